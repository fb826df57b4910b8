package textkit

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

// isHidden reports whether no context makes r visible.
func isHidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || 0xe0080 <= r && r <= 0xe0fff ||
		strings.ContainsRune("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2064\u206a\ufeff\u3164\uffa0\ufff9\ufffb\ufe00\ufe0d\ufffe\U000e0001\U0001d173", r)
}

// Texts of these languages and pictographs need characters that are hidden elsewhere.
var needed = []string{
	"می\u200cخواهم کتاب\u200cها را ببینم", "क्\u200dष और क्\u200cष", "ക്\u200d ന്\u200d", "ශ්\u200dරී ලංකා", "ব্\u200cযা", "ကျေးဇူး", "བོད་ཧཱུྃ", "ภาษาไทยที่นี่",
	"ᠮᠣᠩᠭᠣᠯ\u180b", "Việt e\u0302\u0301", "שָׁלוֹם", "اَلْعَرَبِيَّةُ \u06dd", "👩\u200d👩\u200d👧\u200d👦", "❤\ufe0f\u200d🔥", "🏳\ufe0f\u200d🌈", "👨🏽\u200d🚀", "🧑\u200d⚕\ufe0f", "‼\ufe0f ℹ\ufe0f ↔\ufe0f",
	"🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "한국어 漢字 かな", "a\u0301\u0323", "x⃗", "\uf8ff",
}

func TestCleanNeeded(t *testing.T) {
	for _, text := range needed {
		if got := Clean(text); got != text {
			t.Errorf("Clean(%+q) = %+q", text, got)
		}
		if got := Escape([]byte(text)); string(got) != text {
			t.Errorf("Escape(%+q) = %+q", text, got)
		}
	}
}

// Cut at any place, the parts that CompleteLen permits give the same text.
func TestCleanParts(t *testing.T) {
	for _, text := range append(needed, "a\u200bb\u200dc", "m\u0301", "x\x1b[31my") {
		runes := []rune(text)
		for size := 1; size <= len(runes); size++ {
			var out, pending string
			for at := 0; at < len(runes); at += size {
				pending += string(runes[at:min(at+size, len(runes))])
				n := CompleteLen(pending)
				out, pending = out+Clean(pending[:n]), pending[n:]
			}
			if got := out + Clean(pending); got != Clean(text) {
				t.Errorf("%+q in parts of %d: %+q", text, size, got)
			}
		}
	}
}

func TestCleanHidden(t *testing.T) {
	flood := strings.Repeat("\u0336", 200)
	for in, want := range map[string]string{
		"pay\u200bpal, pay\u200cpal, pay\u200dpal, pay\u2060pal":  "paypal, paypal, paypal, paypal",
		"one\u2028two\u2029three":                                 "one\ntwo\nthree",
		"a\u202etxt.exe\u202c \u2066b\u2069 \u200ec\u200f\u061cd": "atxt.exe b cd",
		"x\U000e0069\U000e0067\U000e006e\U000e006f\U000e007f":     "x",
		"🏴\U000e0067\U000e0062\U000e0069\U000e0067\U000e006e":     "🏴\U000e0067\U000e0062",
		"a\ufe00\ufe0f\U000e0100b, ❤\ufe0f\ufe0f\ufe0f":           "ab, ❤\ufe0f",
		"می\u200c\u200c\u200d\u200c":                              "می\u200c",
		"\u200d\u200cx":                                           "x",
		"\u3164\u115f\uffa0name":                                  "name",
		"o" + flood + "k":                                         "o" + strings.Repeat("\u0336", maxMarks) + "k",
		"a\u009b31mb\u0080c\u009dd":                               "abcd",
		"\u034f\u17b4\ufff9note\ufffb\ufdd0":                      "note",
		"soft\u00adhyphen":                                        "softhyphen",
	} {
		got := Clean(in)
		if got != want {
			t.Errorf("Clean(%+q) = %+q, want %+q", in, got, want)
		}
		if line := OneLine(in); strings.ContainsFunc(line, isHidden) || line != OneLine(line) {
			t.Errorf("OneLine(%+q) = %+q", in, line)
		}
		js, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var back string
		if escaped := string(Escape(js)); strings.ContainsFunc(escaped, isHidden) || json.Unmarshal([]byte(escaped), &back) != nil || back != in {
			t.Errorf("Escape(%s) = %+q", js, escaped)
		}
	}
}

// No character that is hidden everywhere stays after any letter.
func TestCleanAllCharacters(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !isHidden(r) || strings.ContainsRune("\r\f\v\u0085\u2028\u2029\x1b", r) || 0x80 <= r && r <= 0x9f {
			continue // line ends, and beginnings of sequences
		}
		for _, before := range []string{"", "a", "م", "❤", "漢"} {
			if Clean(before+string(r)+"b") != before+"b" {
				t.Fatalf("U+%04X after %q: %+q", r, before, Clean(before+string(r)+"b"))
			}
		}
	}
}
