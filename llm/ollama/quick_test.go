package ollama

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuickLine(t *testing.T) {
	for _, test := range []struct {
		name, in string
		thinking string
		content  string
		quick    bool
	}{
		{"words", `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"a\n"},"done":false}`, "", "a\n", true},
		{"thinking", `{"model":"m","message":{"content":"","thinking":"a","tool_calls":null},"done":false}`, "a", "", true},
		{"the end", `{"model":"m","message":{"content":"a"},"done":true,"eval_count":1}`, "", "", false},
		{"a call", `{"message":{"content":"","tool_calls":[{"function":{"name":"f"}}]},"done":false}`, "", "", false},
		{"an error", `{"error":"x","message":{"content":"a"}}`, "", "", false},
		{"no message", `{"model":"m","done":false}`, "", "", false},
		{"content that is none", `{"message":{"content":1},"done":false}`, "", "", false},
		{"cut", `{"model":"m","message":{"content":"a`, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, ok := quickLine([]byte(test.in), "m")
			if ok != test.quick || ok && (l.Model != "m" || l.Message.Thinking != test.thinking || l.Message.Content != test.content) {
				t.Errorf("quick %v: %+v", ok, l)
			}
		})
	}
}

func FuzzQuickLine(f *testing.F) {
	f.Add([]byte(`{"model":"m","created_at":"x","message":{"role":"assistant","content":"a\u00e9","thinking":null},"done":false}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := quickLine(data, "known")
		if !ok || !json.Valid(data) {
			return
		}
		var want line
		if err := json.Unmarshal(data, &want); err != nil {
			return // the decoder checks unused fields
		}
		if want.Model == "" {
			want.Model = "known"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-decoded +quick):\n%s", data, diff)
		}
	})
}
