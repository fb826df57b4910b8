package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuickDelta(t *testing.T) {
	for _, test := range []struct {
		name, in string
		want     delta
		quick    bool
	}{
		{"text", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\n"}}`, delta{Type: "text_delta", Text: "a\n"}, true},
		{"thinking, in another order", ` {"delta":{"thinking":"a","type":"thinking_delta"}, "index":1, "type":"content_block_delta"} `,
			delta{Type: "thinking_delta", Thinking: "a"}, true},
		{"input", `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
			delta{Type: "input_json_delta", PartialJSON: `{"a"`}, true},
		{"a signature", `{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"a"}}`, delta{}, false},
		{"another event", `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, delta{}, false},
		{"no delta", `{"type":"content_block_delta","index":1}`, delta{}, false},
		{"more in it", `{"type":"content_block_delta","index":1,"usage":{},"delta":{"type":"text_delta","text":"a"}}`, delta{}, false},
		{"text that is none", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":["a"]}}`, delta{}, false},
		{"cut", `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a`, delta{}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			index, d, ok := quickDelta([]byte(test.in))
			if ok != test.quick || ok && index != 1 {
				t.Errorf("quick %v, index %d", ok, index)
			}
			if diff := cmp.Diff(test.want, d); ok && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzQuickDelta(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a\u00e9"}}`))
	f.Add([]byte(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""},"x":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, d, ok := quickDelta(data)
		if !ok || !json.Valid(data) {
			return
		}
		var want event
		if err := json.Unmarshal(data, &want); err != nil || want.Type != "content_block_delta" || want.Index != index {
			t.Fatalf("%s is %+v, %v; quickly of block %d", data, want, err, index)
		}
		if diff := cmp.Diff(want.Delta, d); diff != "" {
			t.Fatalf("%s (-decoded +quick):\n%s", data, diff)
		}
	})
}
