package mindrunner

import (
	"time"

	"ponder"
)

// IsUrgent reports whether the user is told something in quiet hours too: what matters
// very much, and does not come from what strangers wrote.
func IsUrgent(e ponder.Escalation) bool { return e.Importance >= Urgent && !e.Untrusted }

// Hours are a part of each day by the clock of the machine: from one time since midnight
// to another, past midnight if that is smaller. The zero value is none of it.
type Hours struct{ From, To time.Duration }

// Contain reports whether a time is in the hours.
func (h Hours) Contain(t time.Time) bool {
	t = t.Local()
	hour, minute, second := t.Clock()
	at := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	if h.From <= h.To {
		return h.From <= at && at < h.To
	}
	return at >= h.From || at < h.To
}
