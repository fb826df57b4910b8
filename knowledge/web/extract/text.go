package extract

import (
	"strings"
)

// blank reports whether a text has no letters to read.
func blank(s string) bool {
	return strings.TrimSpace(s) == ""
}
