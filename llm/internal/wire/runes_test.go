package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// joinedText joins pieces and returns the text of their field t.
func joinedText(t *testing.T, pieces [][]byte) (text string) {
	t.Helper()
	in := func(yield func([]byte, error) bool) {
		for _, p := range pieces {
			if !yield(slices.Clone(p), nil) {
				return
			}
		}
	}
	for piece, err := range joinRunes(in) {
		var v struct {
			T string `json:"t"`
		}
		if err == nil {
			err = json.Unmarshal(piece, &v)
		}
		if err != nil {
			t.Fatalf("%s: %v", piece, err)
		}
		text += v.T
	}
	return text
}

// escapeUnits writes text as escapes of UTF-16, one for each unit.
func escapeUnits(text string, upper bool) (units []string) {
	format := `\u%04x`
	if upper {
		format = `\u%04X`
	}
	for _, u := range utf16.Encode([]rune(text)) {
		units = append(units, fmt.Sprintf(format, u))
	}
	return units
}

// A character in two or more pieces, in bytes or in escapes, is one character.
func TestJoinRunes(t *testing.T) {
	const text = "a😀ü\\ud83d\"語👩‍👧"
	wrap := func(s string) []byte { return []byte(`{"x":{"y":"z\\\""},"t":"` + s + `","n":1}`) }
	quoted := strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"`, `\"`)
	for size := 1; size <= 7; size++ {
		var raw [][]byte
		for at := 0; at < len(quoted); {
			end := min(at+size, len(quoted))
			if quoted[end-1] == '\\' && end < len(quoted) { // no JSON string ends within an escape
				end++
			}
			raw = append(raw, wrap(quoted[at:end]))
			at = end
		}
		if got := joinedText(t, raw); got != text {
			t.Errorf("%d bytes: %q, want %q", size, got, text)
		}
		for _, upper := range []bool{false, true} {
			var escaped [][]byte
			for some := range slices.Chunk(escapeUnits(text, upper), size) {
				escaped = append(escaped, wrap(strings.Join(some, "")), wrap("")) // also with an empty piece between
			}
			if got := joinedText(t, escaped); got != text {
				t.Errorf("%d escapes: %q, want %q", size, got, text)
			}
		}
	}
}

// Pieces without a half stay as they are, and a lone half does no harm.
func TestLoneHalves(t *testing.T) {
	for in, want := range map[string]string{
		`{"t":"a\\ud83d"}` + "\n" + `{"t":"\\ude00"}`:           `a\ud83d\ude00`,
		`{"t":"a\ud83d"}` + "\n" + `{"t":"b"}`:                  "ab",
		`{"t":"\ude00a"}`:                                       "\uFFFDa",
		"{\"t\":\"a\xf0\x9f\"}\n{\"t\":\"b\"}":                  "ab",
		"{\"t\":\"a\x80\"}":                                     "a\uFFFD",
		`{"t":"\ud83d"}` + "\n" + `{"t":"\ud83d"}`:              "",
		`{"t":"\ud83d\ude00"}`:                                  "😀",
		`{"n":1}` + "\n" + `{"t":"é"}`:                          "é",
		`{"t":"\ud83d","u":"\ud83d"}` + "\n" + `{"t":"\ude00"}`: "😀",
	} {
		var pieces [][]byte
		for line := range strings.Lines(in) {
			pieces = append(pieces, []byte(strings.TrimSpace(line)))
		}
		if got := joinedText(t, pieces); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// quoteBytes writes bytes as a JSON string, also half a character.
func quoteBytes(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

func FuzzJoinRunes(f *testing.F) {
	f.Add("😀ü語", uint8(1))
	f.Add(`\ud83d"`, uint8(3))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		text = strings.ToValidUTF8(text, "?")
		var bytes, escapes [][]byte
		for some := range slices.Chunk([]byte(text), int(size%9)+1) {
			bytes = append(bytes, []byte(`{"t":`+quoteBytes(string(some))+`}`))
		}
		for some := range slices.Chunk(escapeUnits(text, size%2 == 0), int(size%9)+1) {
			escapes = append(escapes, []byte(`{"t":"`+strings.Join(some, "")+`"}`))
		}
		if got := joinedText(t, bytes); got != text {
			t.Errorf("%q: %q", bytes, got)
		}
		if got := joinedText(t, escapes); got != text {
			t.Errorf("%q: %q", escapes, got)
		}
	})
}
