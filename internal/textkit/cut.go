package textkit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Prefix returns the longest prefix of text with at most n bytes and whole characters.
func Prefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if n <= 0 {
		return ""
	}
	for back := 0; back < utf8.UTFMax && n >= back; back++ {
		if utf8.RuneStart(text[n-back]) {
			return text[:n-back]
		}
	}
	return text[:n] // not UTF-8
}

// WholeRunes returns the length of text without an incomplete character at the end.
func WholeRunes(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return len(text) - n
			}
			break
		}
	}
	return len(text)
}

// TruncateBytes returns text with at most n bytes. A truncated text ends in an ellipsis without
// white space before it, or is empty if n is too small for the ellipsis.
func TruncateBytes(text string, n int) string {
	const mark = "…"
	if len(text) <= n {
		return text
	}
	if n < len(mark) {
		return ""
	}
	return strings.TrimRightFunc(Prefix(text, n-len(mark)), unicode.IsSpace) + mark
}
