package mcp

import (
	"fmt"
	"ponder/internal/textkit"
	"strings"
)

// visibleText returns the visible part of a text. It cuts the text after limit bytes and appends
// the size of the rest.
func visibleText(s string, limit int) string {
	s = strings.TrimSpace(textkit.Visible(s))
	if len(s) <= limit {
		return s
	}
	head := textkit.Prefix(s, limit)
	return fmt.Sprintf("%s… [%d bytes more]", head, len(s)-len(head))
}
