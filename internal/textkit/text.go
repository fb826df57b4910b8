// Package textkit has the functions on text that several packages need: it removes what
// controls a terminal, and shortens text to one line or to a number of characters.
package textkit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequences finds what colours a terminal, moves its cursor or names its window
// (ECMA-48), in the forms of seven and eight bits. What begins as a string and does not
// end on its line is only its beginning.
var sequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` + // OSC and its like
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// Clean returns text that a terminal shows and does not obey: without control
// characters, escape sequences and marks that reverse the direction of text.
// Lines and tabs stay.
func Clean(text string) string {
	if strings.IndexByte(text, 0x1b) >= 0 || strings.IndexByte(text, 0xc2) >= 0 { // the first byte of C1
		text = sequences.ReplaceAllString(text, "")
	}
	return strings.Map(func(r rune) rune {
		if obeyed(r) || r == unicode.ReplacementChar {
			return -1
		}
		return r
	}, text)
}

// stringBegins matches a string of an escape sequence that has not ended.
var stringBegins = regexp.MustCompile(`^(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\n\x07\x1b\x{80}-\x{9f}]*$`)

// Whole returns how many bytes of the beginning of a text are cleaned by themselves as
// they are in the whole: an escape sequence at the end, which may go on in what
// follows, is not among them.
func Whole(text string) int {
	const longest = 256 // bytes of a sequence that is waited for
	from := max(0, len(text)-longest)
	i := strings.LastIndexAny(text[from:], "\x1b\u0090\u0098\u009b\u009d\u009e\u009f")
	if i < 0 {
		return len(text)
	}
	i += from
	at := sequences.FindStringIndex(text[i:])
	if stringBegins.MatchString(text[i:]) {
		return i
	}
	if at == nil && len(text)-i > 2 || at != nil && at[1] < len(text)-i {
		return len(text)
	}
	return i
}

// obeyed reports whether a terminal does something at a character beside showing it.
func obeyed(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
}

// Escape writes each character that a terminal would obey as JSON writes it, \u009b.
// JSON stays the same JSON.
func Escape(text []byte) []byte {
	if !bytes.ContainsFunc(text, obeyed) {
		return text
	}
	var out []byte
	for _, r := range string(text) {
		if obeyed(r) {
			out = fmt.Appendf(out, "\\u%04x", r)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// OneLine returns text cleaned and on one line, with single spaces between words.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Truncate returns text with at most n characters. A cut text ends in an ellipsis.
func Truncate(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}
