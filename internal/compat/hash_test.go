package compat

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// TestHashParts checks the form that stored causes have, also for long parts.
func TestHashParts(t *testing.T) {
	for _, parts := range [][]string{{""}, {"a", "", "bc"}, {strings.Repeat("x", 1021), "y"}, {strings.Repeat("xyz", 5000), strings.Repeat("ü", 1<<10)}} {
		all := ""
		for _, p := range parts {
			all += fmt.Sprintf("%d:%s", len(p), p)
		}
		if hashParts(parts...) != sha256.Sum256([]byte(all)) {
			t.Errorf("%d parts of %d bytes", len(parts), len(all))
		}
	}
}
