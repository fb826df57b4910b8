package responses

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"

	"ponder/internal/compat/protocoltest"
)

// TestApprovals checks that the text of a response asks the user, and that only its code answers: with previous_response_id
// and with a conversation.
func TestApprovals(t *testing.T) {
	for name, stream := range map[string]bool{"previous": true, "conversation": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lamp := &protocoltest.Lamp{}
				r := newRig(t, lamp.Options(protocoltest.Options{}), nil)
				ids := make(map[string]string) // of the last response, or of the conversation
				protocoltest.CheckCodes(t, lamp, func(token, chat string, texts []string) string {
					send := func(path string, body map[string]any) protocoltest.Stream {
						js, err := json.Marshal(body)
						if err != nil {
							t.Fatal(err)
						}
						req := protocoltest.Request(t.Context(), http.MethodPost, path, string(js))
						req.Header.Set("Authorization", "Bearer "+token)
						return r.Stream(req, 0)
					}
					key := token + chat
					body := map[string]any{"model": "ponder/chat", "stream": stream, "input": texts[len(texts)-1]}
					switch id := ids[key]; {
					case name == "conversation":
						if id == "" {
							var made struct{ ID string }
							if out := send("/v1/conversations", map[string]any{}); json.Unmarshal([]byte(out.Body), &made) != nil || made.ID == "" {
								t.Fatalf("no conversation: %d %s", out.Code, out.Body)
							}
							id, ids[key] = made.ID, made.ID
						}
						body["conversation"] = id
					case id != "":
						body["previous_response_id"] = id
					}
					out := send("/v1/responses", body)
					var res map[string]any
					if stream {
						_, res = checkStream(t, out)
					} else if err := json.Unmarshal([]byte(out.Body), &res); err != nil || checkFields(res) != nil {
						t.Fatalf("%d %s", out.Code, out.Body)
					}
					if name == "previous" {
						ids[key] = res["id"].(string)
					}
					return textIn(res, "")
				})
			})
		})
	}
}
