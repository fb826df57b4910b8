package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

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

func FuzzAppendText(f *testing.F) {
	f.Add("plain and long enough to be looked at by eights")
	f.Add("<question>\nIs \"this\" & that > those?\n</question> \\ too\t\b\f\r\x00\x1f\x7f")
	f.Add("\u2028 \u2029 \ufffd é日本🙂 \xff\xc3 \\ufffd \\u003c =?;:")
	for c := range 256 {
		f.Add(strings.Repeat("a", c%9) + string([]byte{byte(c)}) + "bcdefghijk")
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, err := Body(s)
		if got := string(AppendText([]byte("x"), s)); err != nil || got != "x"+string(want) {
			t.Errorf("wrote %s, want x%s (%v)", got, want, err)
		}
	})
}

func BenchmarkAppendText(b *testing.B) {
	text := strings.Repeat("- [insight 0.52] [q16] says \"time a cause of structure change, or\".\n", 90)
	b.Run("text", func(b *testing.B) {
		var out []byte
		for b.Loop() {
			out = AppendText(out[:0], text)
		}
	})
	b.Run("body", func(b *testing.B) {
		for b.Loop() {
			if _, err := Body(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
