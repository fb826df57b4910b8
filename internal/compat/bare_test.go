package compat

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// Databases hold digests of Bare, so its results must not change.
func FuzzBare(f *testing.F) {
	f.Add("Hello, sea! 3 × $4 — \x00\xff", "the sea's\n depth: 4.000 m²")
	f.Add("", "~^<>|`+=_-")
	f.Fuzz(func(t *testing.T, one, two string) {
		if got, want := Alphanumeric(one), strings.Map(bareRune, one); got != want {
			t.Errorf("%q is %q bare, want %q", one, got, want)
		}
		if got, want := hashParts(one, two), sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s", len(one), one, len(two), two)); got != want {
			t.Errorf("the digest of %q and %q has changed", one, two)
		}
	})
}
