package wire

import (
	"encoding/json"
	"testing"
)

// TestText checks that JSON reads the same before and after it was stored.
func TestText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"blanks", `{ "a" : [1, 2] }`, `{"a":[1,2]}`},
		{"signs", `{"a":"<b> & c"}`, `{"a":"<b> & c"}`},
		{"escaped signs", `{"a":"\u003cb\u003e \u0026 c"}`, `{"a":"<b> & c"}`},
		{"an escaped backslash", `{"a":"\\u003c"}`, `{"a":"\\u003c"}`},
		{"not JSON", `{a`, `{}`},
		{"nothing", ``, `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Text(json.RawMessage(tt.in)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			stored, err := json.Marshal(json.RawMessage(tt.in))
			if err == nil && Text(stored) != tt.want {
				t.Errorf("after storing: got %s, want %s", Text(stored), tt.want)
			}
		})
	}
}
