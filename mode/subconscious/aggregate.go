package subconscious

import (
	"time"

	"ponder"
)

// A Merged is what a tick comes to.
type Merged struct {
	State    State
	Changes  []Change
	Findings []ponder.Finding    // with what became of each
	Raised   []ponder.Escalation // with ID, Content, Reason and the rest, but no Outcome
}

// Aggregate merges what roles found into a state. See docs/design/subconscious.md.
func Aggregate(s State, in Input, now time.Time, rules Rules) Merged {
	return Merged{State: s}
}

// At returns the state as it is at a time at which nothing new came: strengths have
// decayed, and what came to nothing is gone.
func (s State) At(now time.Time) State { return s }

// Apply returns the state after an event of its thread: ticks, decisions, and what the
// user said is resolved, forgotten or rolled back.
func (s State) Apply(ev ponder.Event) State { return s }

// NewState returns the state of a mind that has seen nothing.
func NewState() State { return State{} }

// SameFinding reports whether two findings of a sentence or two say the same thing.
func SameFinding(a, b string) bool { return a == b }
