package main

import (
	"testing"

	"ponder"
)

// A process that pauses a session holds it a moment longer. It neither counts as a new holder
// nor allows a resume.
func TestHolderOfPausedSession(t *testing.T) {
	for _, tt := range []struct {
		name         string
		info         ponder.Info
		begun, letGo bool
	}{
		{"thinking", ponder.Info{Status: ponder.Thinking, Held: true}, true, true},
		{"interrupted", ponder.Info{Status: ponder.Thinking}, false, true},
		{"being paused", ponder.Info{Status: ponder.Paused, Held: true}, false, false},
		{"paused by itself", ponder.Info{Status: ponder.Paused}, true, true},
		{"ended", ponder.Info{Status: ponder.Completed}, true, true},
	} {
		if got := hasStarted(tt.info); got != tt.begun {
			t.Errorf("%s: hasStarted: %t", tt.name, got)
		}
		if got := isResumable(tt.info); got != tt.letGo {
			t.Errorf("%s: isResumable: %t", tt.name, got)
		}
	}
}
