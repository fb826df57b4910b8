package mcp

import (
	"fmt"
	"ponder/internal/textkit"
	"strings"
)

// text returns what can be seen of a text, at most so many bytes of it, and says so if
// there was more.
func text(s string, most int) string {
	s = strings.TrimSpace(textkit.Visible(s))
	if len(s) <= most {
		return s
	}
	head := textkit.Prefix(s, most)
	return fmt.Sprintf("%s… [%d bytes more]", head, len(s)-len(head))
}
