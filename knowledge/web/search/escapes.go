package search

import (
	"regexp"
	"strings"
)

// sequences finds what colours a terminal, moves its cursor or names its window
// (ECMA-48), in the forms of seven and eight bits. What begins as a string and does not
// end on its line is only its beginning.
var sequences = regexp.MustCompile(`(?:\x1b+\[|\x{9b})[0-?]{0,32}[ -/]{0,4}[@-~]?` + // CSI
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])(?:[^\n\x07\x1b\x{80}-\x{9f}]*(?:\x07|\x1b\\|\x{9c})|(?:[0-9]{1,4};)?)` + // OSC and its like
	`|\x1b(?:[#%()*+./-][0-~]|[=>6-8DEHMNOZc\\|}~])`)

// StripEscapes returns a text without the escape sequences of terminals, which are no
// part of what it says. Other control characters stay.
func StripEscapes(text string) string {
	if strings.IndexByte(text, 0x1b) < 0 && strings.IndexByte(text, 0xc2) < 0 { // nor the first byte of one of C1
		return text
	}
	return sequences.ReplaceAllString(text, "")
}

// references finds the escape character as HTML may have it.
var references = regexp.MustCompile(`(?i)&#(?:0{0,9}27|x0{0,9}1b);?`)

// StripMarkupEscapes is StripEscapes for HTML, which may write the escape character as
// a reference.
func StripMarkupEscapes(html string) string {
	if strings.Contains(html, "&#") {
		html = references.ReplaceAllLiteralString(html, "\x1b")
	}
	return StripEscapes(html)
}
