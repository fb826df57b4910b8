// Package runstate provides the common state of sessions and research: clock, end and failure
// reasons. Checkpoints contain its JSON.
package runstate

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/pendingwrites"
)

// MaxReason is the maximum length of a failure reason in bytes.
const MaxReason = 500

// Clock measures the thinking time of a run in milliseconds from its first Write. Pauses do not
// count.
type Clock struct {
	Now     int64 `json:"now,omitempty"` // of the thread
	Began   int64 `json:"began,omitempty"`
	Started bool  `json:"begun,omitempty"`
}

// Advance returns the clock after an event. first is the key of the run's first Write.
func (c Clock) Advance(ev ponder.Event, run ponder.RunID, first string) Clock {
	c.Now = max(c.Now, ev.Elapsed.Milliseconds())
	if !c.Started && ev.Run == run && strings.HasPrefix(ev.Cause, first+"/") {
		c.Started, c.Began = true, c.Now
	}
	return c
}

// Milliseconds returns the thinking time; 0 before the start.
func (c Clock) Milliseconds() int64 {
	if !c.Started {
		return 0
	}
	return max(0, c.Now-c.Began)
}

// Seconds returns the thinking time.
func (c Clock) Seconds() float64 {
	return (time.Duration(c.Milliseconds()) * time.Millisecond).Seconds()
}

// End is the result of a run.
type End struct {
	Status     ponder.Status    `json:"status"`
	Answer     string           `json:"answer,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	Code       ponder.EndReason `json:"code,omitempty"`
	Confidence float64          `json:"confidence,omitempty"`
}

// Failed returns the end of a failed run.
func Failed(why string) End {
	return End{Status: ponder.Failed, Reason: textkit.Line(why, MaxReason), Code: ponder.EndFailed}
}

// Action returns the Finish of the run.
func (e *End) Action() ponder.Action {
	return ponder.Finish{Status: e.Status, Answer: e.Answer, Reason: e.Reason, End: e.Code, Confidence: e.Confidence}
}

// Reason is the reason for the end of a run. Its text is for users.
type Reason struct {
	Code ponder.EndReason `json:"code,omitempty"`
	Text string           `json:"text,omitempty"`
}

// UserReason is the reason of a run whose user requests the answer.
var UserReason = Reason{ponder.EndUser, "the user requested the answer"}

// BudgetReason is the reason of a run that reached a limit.
func BudgetReason(b ponder.BudgetSpent) Reason { return Reason{b.EndReason(), b.String()} }

// Or returns r, or other if r is empty. Checkpoints of older versions have texts without codes.
func (r Reason) Or(other Reason) Reason {
	switch {
	case r.Text == "":
		return other
	case r.Code == "":
		r.Code = ponder.RunFinished{Reason: r.Text}.EndReason()
	}
	return r
}

// WithMaterial adds the material that the answer uses: n things of the noun one.
func (r Reason) WithMaterial(n int, one, many string) Reason {
	if r.Code.IsBudget() && n > 0 {
		r.Text += "; answered from " + textkit.Count(n, one, many)
	}
	return r
}

// IsPermanent reports whether every call would fail with this class.
func IsPermanent(c llm.Class) bool { return c == llm.Auth || c == llm.Payment || c == llm.NotFound }

// AppendWrite appends a Write of bodies under prefix and the incremented n. Without bodies it changes
// nothing.
func AppendWrite(notes []pendingwrites.Note, prefix string, n *int, add []ponder.Body) []pendingwrites.Note {
	if len(add) == 0 {
		return notes
	}
	*n++
	return append(slices.Clip(notes), pendingwrites.Note{Key: prefix + "-" + strconv.Itoa(*n), Bodies: add})
}

// AppendLast returns a copy of list with e appended, limited to the last most elements.
func AppendLast[E any](list []E, e E, limit int) []E {
	list = list[max(0, len(list)+1-limit):]
	return append(append(make([]E, 0, len(list)+1), list...), e)
}
