package report

import (
	"testing"

	"ponder"
	"ponder/mode/session"
)

func TestLead(t *testing.T) {
	for _, tt := range []struct {
		status       ponder.Status
		reason, want string
	}{
		{ponder.Completed, "time is spent", "Completed after 36 seconds: time is spent."},
		{ponder.Cancelled, "cancelled", "Cancelled after 36 seconds."},
		{ponder.Cancelled, "not needed any more", "Cancelled after 36 seconds: not needed any more."},
		{ponder.Failed, "it broke", "Failed after 36 seconds."},
	} {
		v := session.NewView()
		v.Session.Status, v.Session.StopReason, v.Session.Progress.Elapsed = tt.status, tt.reason, 36
		if got := leadText(v); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.status, got, tt.want)
		}
	}
}
