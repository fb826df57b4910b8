package subconscious

import "time"

// HeldBack returns until when decisions may neither act nor remember, because models of
// roles were shown what strangers wrote, and when that was last. Both are zero if they
// never were. It is held back at a time if that is before until.
func (v View) HeldBack() (until, since time.Time) {
	if v.knows.Exposed.IsZero() {
		return time.Time{}, time.Time{}
	}
	return v.knows.Exposed.Add(exposure), v.knows.Exposed
}

// DecisionTools returns the names of the tools that decisions have of their own.
func DecisionTools() []string { return []string{messageTool, dismissTool, rememberTool} }
