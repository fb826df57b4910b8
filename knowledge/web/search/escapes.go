package search

import (
	"ponder/internal/textkit"
	"regexp"
	"strings"
)

// references finds the escape character as HTML may have it.
var references = regexp.MustCompile(`(?i)&#(?:0{0,9}27|x0{0,9}1b);?`)

// StripMarkupEscapes is [textkit.StripEscapes] for HTML, which may write the escape character as
// a reference.
func StripMarkupEscapes(html string) string {
	if strings.Contains(html, "&#") {
		html = references.ReplaceAllLiteralString(html, "\x1b")
	}
	return textkit.StripEscapes(html)
}
