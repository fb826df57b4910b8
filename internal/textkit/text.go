// Package textkit has text functions for several packages: it removes terminal control sequences
// and shortens text.
package textkit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// sequences matches terminal escape sequences (ECMA-48) in 7-bit and 8-bit form. An unterminated
// string matches only its start.
var sequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` + // OSC and its like
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// Clean returns text as valid UTF-8 without control characters, escape sequences, and characters that are
// hidden or reorder others. Lines and tabs stay; all line ends become "\n".
func Clean(text string) string {
	if isLine(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = StripEscapes(text)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(new(filter).filterRune, text)
}

// CleanTrim returns cleaned text without surrounding white space.
func CleanTrim(text string) string { return strings.TrimSpace(Clean(text)) }

// Visible returns cleaned text without private characters and variation selectors, which models see and
// readers do not.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x180b && unicode.In(r, unicode.Co, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, Clean(text))
}

// StripEscapes removes terminal escape sequences but keeps other control characters.
func StripEscapes(text string) string {
	if !hasEscape(text) {
		return text
	}
	return sequences.ReplaceAllString(text, "")
}

// hasEscape reports whether text has an escape or an 8-bit control character.
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

// isLine reports whether text is a clean line with single spaces, as most texts are.
func isLine(text string) bool {
	space := true // a leading space is not allowed either
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(text[i:]); n == 1 || !isPlain(r) {
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

// stringBegins matches an unterminated string of an escape sequence.
var stringBegins = regexp.MustCompile(`^(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\n\x07\x1b\x{80}-\x{9f}]*$`)

// CompleteLen returns the length of the prefix of text that can be cleaned independently of what
// follows. It excludes an escape sequence at the end that may continue, and a letter that may get a joiner.
func CompleteLen(text string) int { return clusterStart(text[:sequenceStart(text)]) }

// sequenceStart returns the length of text without an escape sequence at the end that may continue.
func sequenceStart(text string) int {
	const longest = 256 // bytes of a sequence to wait for
	from := max(0, len(text)-longest)
	i := strings.LastIndexAny(text[from:], "\x1b\u0090\u0098\u009b\u009d\u009e\u009f")
	if i < 0 {
		return len(strings.TrimSuffix(text, "\r")) // possibly half of a line end
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

// Escape replaces each character that [Clean] would change by its JSON escape, such as \u009b. JSON keeps
// its value.
func Escape(text []byte) []byte {
	check := new(filter)
	if !bytes.ContainsFunc(text, func(r rune) bool { return check.filterRune(r) != r }) {
		return text
	}
	var out []byte
	f := new(filter)
	for _, r := range string(text) {
		if f.filterRune(r) == r {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, "\\u%04x", unit)
		}
	}
	return out
}

// OneLine returns cleaned text on one line with single spaces.
func OneLine(text string) string {
	if isLine(text) {
		return text
	}
	return strings.Join(strings.Fields(Clean(text)), " ")
}

// PrefixLine returns visible text on one line, cut at n bytes. Its time depends on n, not on the
// length of text.
func PrefixLine(text string, n int) string {
	line := strings.Join(strings.Fields(Visible(Prefix(text, 16*n+4096))), " ")
	return strings.TrimRightFunc(Prefix(line, n), unicode.IsSpace)
}

// Line returns text on one line of at most n bytes.
func Line(text string, n int) string { return TruncateBytes(OneLine(text), n) }

// VisibleLine returns visible text on one line of at most n bytes. Its time depends on n, not on
// the length of text.
func VisibleLine(text string, n int) string {
	return TruncateBytes(strings.Join(strings.Fields(Visible(Prefix(text, 16*n+4096))), " "), n)
}

// Truncate returns text with at most n characters. A truncated text ends in an ellipsis.
func Truncate(text string, n int) string {
	count, end := 0, 0
	for i := range text { // without a copy of a long text
		if count == n-1 {
			end = i
		}
		if count++; count > n {
			return string([]rune(text[:end])) + "…" // also replaces invalid bytes
		}
	}
	return text
}

// TruncateWords returns text with at most n characters. A truncated text ends in an ellipsis, after
// a whole word unless that word is long.
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

// HasWords reports whether a text has a letter, a number or a symbol such as an emoji.
func HasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r > unicode.MaxASCII && r != utf8.RuneError && unicode.IsSymbol(r)
	})
}
