package sensor

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		max        int
		want       string
	}{
		{"plain", "a file", 20, "a file"},
		{"lines", " a\r\n\tb  c\n", 20, "a b c"},
		{"colour", "\x1b[31mred\x1b[0m alert", 20, "red alert"},
		{"title of a terminal", "a\x1b]0;owned\x07b", 20, "ab"},
		{"one byte CSI", "a\u009b2Jb", 20, "ab"},
		{"direction", "abc\u202edef\u200b", 20, "abcdef"},
		{"not UTF-8", "a\xffb", 20, "a\uFFFDb"},
		{"cut", "abcdefghij", 8, "abcde…"},
		{"cut in a letter", "äääää", 8, "ää…"},
		{"no room", "abcdef", 2, ""},
		{"just", "abcdefgh", 8, "abcdefgh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Line(c.text, c.max); got != c.want {
				t.Errorf("Line(%q, %d) = %q, want %q", c.text, c.max, got, c.want)
			}
		})
	}
}

func TestSubject(t *testing.T) {
	long := strings.Repeat("a", 300)
	names := []string{"a", "a\n", "a ", "a\u200b", long, long + "b"}
	seen := map[string]string{}
	for _, name := range names {
		s := Subject(name)
		if other, ok := seen[s]; ok {
			t.Errorf("%q and %q have the same subject %q", name, other, s)
		}
		seen[s] = name
		if len(s) > MaxSubject {
			t.Errorf("Subject(%q) has %d bytes", name, len(s))
		}
	}
	if got := Subject("/home/a b/c"); got != "/home/a b/c" {
		t.Errorf("a plain name became %q", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b[31mb", 10)
	f.Add("\x1b]0;x", 3)
	f.Fuzz(func(t *testing.T, text string, max int) {
		max = min(max, 2000)
		if max < 0 {
			return
		}
		got := Line(text, max)
		if len(got) > max || !utf8.ValidString(got) {
			t.Errorf("Line(%q, %d) = %q", text, max, got)
		}
		for _, r := range got {
			if unicode.In(r, unicode.Cc, unicode.Cf) && !unicode.In(r, unicode.Join_Control, unicode.Prepended_Concatenation_Mark) {
				t.Errorf("Line(%q) has %U", text, r)
			}
		}
	})
}
