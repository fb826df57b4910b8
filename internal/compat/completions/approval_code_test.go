package completions_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"ponder/internal/auth"
	"ponder/internal/compat/protocoltest"
	"ponder/internal/httpapi"
)

// TestApprovals checks that the text of a stream asks the user, and that only its code answers.
func TestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lamp := &protocoltest.Lamp{}
		r := protocoltest.New(t, lamp.Options(protocoltest.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := httpapi.New(ctx, httpapi.Config{Store: r.Store, Hub: r.Desk.Hub, Service: r.Service, Requests: &notebook{}, Logger: slog.New(slog.DiscardHandler), Guard: auth.New(auth.Config{Tokens: []auth.Token{
			{Name: "local", Owner: protocoltest.Owner, Scopes: auth.Scopes(), Hash: auth.HashOf(protocoltest.Mine)},
			{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf(protocoltest.Hers)},
		}})})
		protocoltest.CheckCodes(t, lamp, func(token, name string, texts []string) (answer string) {
			var messages []any
			for i, text := range texts {
				messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[i%2], "content": text})
			}
			field := map[bool]string{true: "newUniqueId", false: "conversationUniqueId"}[len(texts) == 1]
			js, err := json.Marshal(map[string]any{"messages": messages, field: name})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, newRequest(token, http.MethodPost, "/api/completions", string(js)))
			for _, e := range protocoltest.Events(w.Body.String()) {
				var chunk struct {
					Type, Content string
					Replace       bool
				}
				if e.Data == "[DONE]" {
					return answer
				}
				if err := json.Unmarshal([]byte(e.Data), &chunk); err != nil {
					t.Fatalf("%v: %s", err, e.Data)
				}
				if chunk.Replace {
					answer = ""
				}
				if chunk.Type == "text" {
					answer += chunk.Content
				}
			}
			t.Fatalf("%d %s", w.Code, w.Body)
			return ""
		})
	})
}
