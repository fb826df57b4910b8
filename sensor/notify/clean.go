package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapes are the sequences that terminals obey: control sequences, operating system
// commands and the like, and what is left of one that has no end.
var escapes = regexp.MustCompile(`(?s)(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].{0,999}?(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]`)

// clean takes out of a text what is not to be shown: escape sequences, control
// characters but the newline, and what turns the direction of writing.
func clean(text string) string {
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "�"), "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.TrimSpace(strings.Map(shown, text))
}

// shown returns a rune as it may be shown: -1 if it may not.
func shown(r rune) rune {
	switch {
	case r == '\n':
		return r
	case r == '\t', r == '\r', r == '\u2028', r == '\u2029', r == '\u0085':
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\ufeff', unicode.Is(unicode.Co, r), r >= 0xe0000 && r <= 0xe007f:
		return -1
	}
	return r
}

// oneLine is clean, in one line with single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }

// clip cuts a text to so many bytes, at a space if there is one near.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	if i := strings.LastIndexAny(text[:cut], " \n"); i > cut*3/4 {
		cut = i
	}
	return strings.TrimSpace(text[:cut]) + "…"
}

// digest returns a short name for a text.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
