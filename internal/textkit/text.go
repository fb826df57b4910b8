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

// Clean returns text as valid UTF-8 that a terminal shows and does not obey: without
// control characters, escape sequences and marks that reverse the direction of text.
// Lines and tabs stay; all line ends become "\n".
func Clean(text string) string {
	if isLine(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = StripEscapes(text)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case ' ' <= r && r < 0x7f, 0xa0 <= r && r < 0x200e: // most text, at once
		case r == '\r', r == '\f', r == '\v', r == '\u0085', r == '\u2028', r == '\u2029':
			return '\n'
		case obeyed(r):
			return -1
		}
		return r
	}, text)
}

// CleanTrim returns text cleaned, without white space around it.
func CleanTrim(text string) string { return strings.TrimSpace(Clean(text)) }

// Visible returns text cleaned and without the characters that readers cannot see but
// models can: format characters, variation selectors and private use. Joiners stay behind
// the letters of scripts that need them, and between pictures.
func Visible(text string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0xad, 0xad < r && r < 0x600, 0x3000 <= r && r < 0xe000, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		case r == '\u200c', r == '\u200d':
			if last < 0x600 { // no script before Arabic joins letters
				return -1
			}
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector):
			return -1
		}
		last = r
		return r
	}, Clean(text))
}

// StripEscapes returns text without the escape sequences of terminals. Other control
// characters stay.
func StripEscapes(text string) string {
	if !hasEscape(text) {
		return text
	}
	return sequences.ReplaceAllString(text, "")
}

// hasEscape reports whether text has an escape character or a control character of eight
// bits.
func hasEscape(text string) bool {
	if strings.IndexByte(text, 0x1b) >= 0 {
		return true
	}
	for i := strings.IndexByte(text, 0xc2); i >= 0 && i+1 < len(text); {
		if text[i+1] < 0xa0 {
			return true
		}
		next := strings.IndexByte(text[i+2:], 0xc2)
		if next < 0 {
			return false
		}
		i += 2 + next
	}
	return false
}

// isLine reports whether text is one line of letters, marks, digits, punctuation and symbols
// with single spaces between words, as most texts are. Such a text needs no cleaning.
func isLine(text string) bool {
	space := true // at the beginning, too, there may be none
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(text[i:]); n == 1 || !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) {
				return false
			}
		}
		if r < ' ' || r == 0x7f || r == ' ' && space {
			return false
		}
		space = r == ' '
		i += n
	}
	return !space
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
		return len(strings.TrimSuffix(text, "\r")) // which is half a line end, perhaps
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
func OneLine(text string) string {
	if isLine(text) {
		return text
	}
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// PrefixLine returns the visible text on one line, cut at n bytes. It takes no longer for
// texts that are much longer.
func PrefixLine(text string, n int) string {
	line := strings.Join(strings.Fields(Visible(Prefix(text, 16*n+4096))), " ")
	return strings.TrimRightFunc(Prefix(line, n), unicode.IsSpace)
}

// Line returns text on one line of at most n bytes.
func Line(text string, n int) string { return TruncateBytes(OneLine(text), n) }

// VisibleLine returns the visible text on one line of at most n bytes. It takes no longer
// for texts that are much longer.
func VisibleLine(text string, n int) string {
	return TruncateBytes(strings.Join(strings.Fields(Visible(Prefix(text, 16*n+4096))), " "), n)
}

// Truncate returns text with at most n characters. A cut text ends in an ellipsis.
func Truncate(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// TruncateWords returns text with at most n characters. A cut text ends in an ellipsis after
// a whole word, unless the word is long.
func TruncateWords(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	cut := string(r[:n-1])
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:") + "…"
}

// HasWords reports whether a text has more than punctuation: a letter or a number of any
// script, or a sign such as an emoji.
func HasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r > unicode.MaxASCII && r != utf8.RuneError && unicode.IsSymbol(r)
	})
}
