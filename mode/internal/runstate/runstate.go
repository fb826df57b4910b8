// Package runstate has the parts that the states of sessions and research share: the clock,
// the end of a run, and the reasons of failures. Its JSON is a part of checkpoints.
package runstate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/pendingwrites"
)

// MaxReason bounds the reason of a failure, in bytes.
const MaxReason = 500

// A Clock counts the thinking time of a run in milliseconds, from its first Write. It stands
// still while the run is paused.
type Clock struct {
	Now   int64 `json:"now,omitempty"`   // of the thread
	Began int64 `json:"began,omitempty"` // of the thread, when the run first wrote
	Begun bool  `json:"begun,omitempty"`
}

// After returns the clock after an event. First is the key of the first Write of the run.
func (c Clock) After(ev ponder.Event, run ponder.RunID, first string) Clock {
	c.Now = max(c.Now, ev.Elapsed.Milliseconds())
	if !c.Begun && ev.Run == run && strings.HasPrefix(ev.Cause, first+"/") {
		c.Begun, c.Began = true, c.Now
	}
	return c
}

// Milliseconds returns the thinking time: none before the run has begun.
func (c Clock) Milliseconds() int64 {
	if !c.Begun {
		return 0
	}
	return max(0, c.Now-c.Began)
}

// Seconds returns the thinking time.
func (c Clock) Seconds() float64 {
	return (time.Duration(c.Milliseconds()) * time.Millisecond).Seconds()
}

// An End is how a run ends.
type End struct {
	Status     ponder.Status `json:"status"`
	Answer     string        `json:"answer,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Confidence float64       `json:"confidence,omitempty"`
}

// Failed returns the end of a run that has no answer.
func Failed(why string) End {
	return End{Status: ponder.Failed, Reason: textkit.Line(why, MaxReason)}
}

// Action returns the action that ends the run.
func (e *End) Action() ponder.Action {
	return ponder.Finish{Status: e.Status, Answer: e.Answer, Reason: e.Reason, Confidence: e.Confidence}
}

// BudgetSpent says which budget is spent.
func BudgetSpent(what string) string {
	switch what {
	case "calls", "tokens":
		return what + " are spent"
	}
	return cmp.Or(what, "the budget") + " is spent"
}

// IsPermanent reports whether a failure of this class will come again, whatever is asked.
func IsPermanent(c llm.Class) bool { return c == llm.Auth || c == llm.Payment || c == llm.NotFound }

// Write returns notes with a Write of bodies, whose key is the prefix and n, counted up.
// Without bodies it returns the notes.
func Write(notes []pendingwrites.Note, prefix string, n *int, add []ponder.Body) []pendingwrites.Note {
	if len(add) == 0 {
		return notes
	}
	*n++
	return append(slices.Clip(notes), pendingwrites.Note{Key: prefix + "-" + strconv.Itoa(*n), Bodies: add})
}

// Push returns a list with one more element in an array of its own, of which the last most
// are kept.
func Push[E any](list []E, e E, most int) []E {
	list = list[max(0, len(list)+1-most):]
	return append(append(make([]E, 0, len(list)+1), list...), e)
}
