package textkit

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		name      string
		got, want string
	}{
		{"prefix of a short text", Prefix("abc", 3), "abc"},
		{"prefix", Prefix("abcd", 3), "abc"},
		{"prefix between characters", Prefix("aää", 4), "aä"},
		{"prefix of nothing", Prefix("ä", 1), ""},
		{"prefix with a negative length", Prefix("abc", -1), ""},
		{"prefix of bytes that are no text", Prefix("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80\x80\x80\x80"},
		{"bytes of a short text", TruncateBytes("abc", 3), "abc"},
		{"bytes", TruncateBytes("abcdefg", 6), "abc…"},
		{"bytes before white space", TruncateBytes("ab defg", 6), "ab…"},
		{"bytes below the ellipsis", TruncateBytes("abcdefg", 2), ""},
		{"characters of a short text", Truncate("äöü", 3), "äöü"},
		{"characters", Truncate("äöüß", 3), "äö…"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.name, test.got, test.want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[31mb\u202ec\r\nd\xff", 3)
	f.Add("漢字かな", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n %= 1000
		if p := Prefix(text, n); len(p) > max(n, 0) || !strings.HasPrefix(text, p) || utf8.ValidString(text) && !utf8.ValidString(p) {
			t.Errorf("Prefix(%q, %d) = %q", text, n, p)
		}
		if s := TruncateBytes(text, n); len(s) > max(n, 0) {
			t.Errorf("TruncateBytes(%q, %d) = %q", text, n, s)
		}
		if s := Clean(text); strings.ContainsFunc(s, isHidden) || Clean(s) != s {
			t.Errorf("Clean(%q) = %q, then %q", text, s, Clean(s))
		}
		if s := OneLine(text); strings.ContainsAny(s, "\n\t\r") || OneLine(s) != s {
			t.Errorf("OneLine(%q) = %q", text, s)
		}
	})
}
