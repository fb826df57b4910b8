// Package text shortens and cleans text of strangers, before it is kept or shown.
// All functions are pure, and take any bytes.
package text

import (
	"regexp"
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

// sequences finds what colours a terminal, moves its cursor or names its window
// (ECMA-48), in the forms of seven and eight bits. What begins as a string and does not
// end on its line is only its beginning.
var sequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` + // OSC and its like
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// Clean returns text as valid UTF-8 without escape sequences of terminals and without
// control characters, save line ends and tabs, with line ends as in Unix, and nothing
// blank around it.
func Clean(text string) string {
	if isLine(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.IndexByte(text, 0x1b) >= 0 || strings.IndexByte(text, 0xc2) >= 0 { // the first byte of C1
		text = sequences.ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
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
