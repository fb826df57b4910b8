package ponder_test

import (
	"strings"
	"testing"

	"ponder"
)

func TestNewID(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := ponder.NewID("evt")
		if len(id) != 30 || !strings.HasPrefix(id, "evt_0") || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
}
