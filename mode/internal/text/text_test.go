package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"as it is":              "as it is",
		"  two \t words\r\n":    "two words",
		"\x1b[31mred\u202e":     "red",
		"a\u2028b\u2066c":       "abc",
		"bad \xff byte":         "bad \uFFFD byte",
		"line\r\nline\rline":    "line line line",
		"":                      "",
		"große\u00a0Wörter\n\n": "große Wörter",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Clean("a\r\n\tb\x00\r"); got != "a\n\tb" {
		t.Errorf("clean is %q", got)
	}
}

// No rest of an escape sequence is shown.
func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]0;OWNED\a\x1b[2J\x1b[31m titleevil":        "titleevil",
		"\u009d0;OWNED\u009c\u009b2J\u009b31mred":        "red",
		"\x1b]8;;https://a.test\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bP1$r\x1b\\\x1b_x\x07\x1b^y\u009cz":          "z",
		"\x1b(B\x1b)0\x1b=\x1bc\x1b7text\x1b8\x1bM":      "text",
		"\x1b[38;5;1;4:3mred\x1b[0 q\x1b[?25l":           "red",
		"\x1b]0;not ended\nnext line":                    "not ended\nnext line",
		"\x1b\x1b[2Jx":                                   "x",
		"an â€\u009d2024":                                "an â€2024",
		"[2J ]0; °C":                                     "[2J ]0; °C",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "ä \u202e \xff\n\r", strings.Repeat("界", 50)} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(3, n%1000)
		if got := Clip(s, n); len(got) > n || utf8.ValidString(s) && !utf8.ValidString(got) || len(s) <= n && got != s {
			t.Errorf("Clip(%q, %d) = %q", s, n, got)
		}
		for name, clean := range map[string]func(string) string{"Clean": Clean, "Line": Line} {
			got := clean(s)
			if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x00\r\u202e") || clean(got) != got {
				t.Errorf("%s(%q) = %q", name, s, got)
			}
		}
		if strings.Contains(Line(s), "\n") {
			t.Errorf("Line(%q) has lines", s)
		}
	})
}
