package mindrunner

import (
	"time"

	"ponder"
)

// IsUrgent reports whether the user gets an escalation in quiet hours too. Its importance
// is at least Urgent, and it does not contain text of strangers.
func IsUrgent(e ponder.Escalation) bool { return e.Importance >= Urgent && !e.Untrusted }

// Hours is a part of each local day, from one time since midnight to another. It spans
// midnight if To is smaller. The zero value is empty.
type Hours struct{ From, To time.Duration }

// Contain reports whether a time is in the hours. From is inside, To is not.
func (h Hours) Contain(t time.Time) bool {
	t = t.Local()
	hour, minute, second := t.Clock()
	at := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	if h.From <= h.To {
		return h.From <= at && at < h.To
	}
	return at >= h.From || at < h.To
}
