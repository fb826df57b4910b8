// Package text shortens and cleans text of strangers, before it is kept or shown.
// All functions are pure, and take any bytes.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clip returns at most n bytes of text, cut between characters, with an ellipsis
// where something is left out.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	const dots = "…"
	cut := max(0, n-len(dots))
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimRightFunc(text[:cut], unicode.IsSpace) + dots
}

// Line returns text with each run of white space as one blank, and nothing that a
// terminal would obey.
func Line(text string) string {
	if isLine(text) {
		return text
	}
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// isLine reports whether a text is one line of printable ASCII with single
// blanks between words, as most are: then there is nothing to do.
func isLine(text string) bool {
	blank := true // there may be none before
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank
}

// Clean returns text as valid UTF-8 without control characters, save line ends
// and tabs, with line ends as in Unix, and nothing blank around it.
func Clean(text string) string {
	if isLine(text) {
		return text
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', isBidi(r):
			return -1
		}
		return r
	}, text))
}

// isBidi reports whether r overrides the direction of text, which can make it
// read as something else.
func isBidi(r rune) bool { return '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069' }
