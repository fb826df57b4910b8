package aisdk

import (
	"encoding/json"
	"strconv"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/protocoltest"
)

// TestApprovals checks that the text of a chat asks the user, and that only its code answers.
func TestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lamp := &protocoltest.Lamp{}
		r := protocoltest.New(t, lamp.Options(protocoltest.Options{Routes: newRoutes}))
		protocoltest.CheckCodes(t, lamp, func(token, chat string, texts []string) string {
			messages := make([]any, len(texts))
			for i, text := range texts {
				messages[i] = map[string]any{
					"id": "m" + strconv.Itoa(i), "role": []string{"user", "assistant"}[i%2], "parts": []any{map[string]any{"type": "text", "text": text}},
				}
			}
			js, err := json.Marshal(map[string]any{"id": chat, "model": "ponder/chat", "trigger": "submit-message", "messages": messages})
			if err != nil {
				t.Fatal(err)
			}
			req := protocoltest.Request(t.Context(), "POST", "/ai/chat", string(js))
			req.Header.Set("Authorization", "Bearer "+token)
			return readStream(t, r.Stream(req, 0)).text
		})
	})
}
