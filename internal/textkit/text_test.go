package textkit

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestEscapes checks that no part of an escape sequence remains.
func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]0;OWNED\a\x1b[2J\x1b[31m titleevil":        " titleevil",
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

func TestEscape(t *testing.T) {
	in := map[string]string{"a": "x\u009b2J\u202ey\n\tz\x1b é"}
	js, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := Escape(js)
	if strings.ContainsAny(string(got), "\u009b\u202e\x1b") {
		t.Errorf("%q", got)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back["a"] != in["a"] {
		t.Errorf("%q is %q, %v", got, back, err)
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain ascii":                 "plain ascii",
		"bad \xff byte\r\nline\rline": "bad \uFFFD byte\nline\nline",
		"pass\u200cword, a\u200d":     "password, a",
		"a\u2028b\u2066c":             "a\nbc",
		"soft\u00adhyphen\u200b\ufeff, \u2764\ufe0f, \ue000, \U000e0041, \u180e": "softhyphen, \u2764, , , ",
		"می\u200cخواهم \u06dd":                                                   "می\u200cخواهم \u06dd",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := VisibleLine("a\u200bb\n"+strings.Repeat("ä ", 1e6), 10); got != "ab ä…" {
		t.Errorf("VisibleLine: %q", got)
	}
}

// TestWhole checks that an incomplete escape sequence is kept back.
func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		"plain": "plain", "a\x1b": "a", "a\x1b[3": "a", "a\x1b[31m": "a", "a\x1b[31mb": "a\x1b[31mb", "a\x1b]0;title": "a", "a\u009b3": "a",
		"a\x1b?? b": "a\x1b?? b", "a\x1b[1mb\x1b[": "a\x1b[1mb", "": "",
	} {
		if got := text[:CompleteLen(text)]; got != want {
			t.Errorf("%q of %q, want %q", got, text, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(" a\x1b[31m\n\tb  c\n"); got != "a b c" {
		t.Errorf("%q", got)
	}
}

func TestTruncate(t *testing.T) {
	for text, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äö…"} {
		if got := Truncate(text, 3); got != want {
			t.Errorf("Truncate(%q, 3) = %q, want %q", text, got, want)
		}
	}
}
