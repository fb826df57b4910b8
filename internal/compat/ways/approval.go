package ways

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/mode/chat"
)

// A PendingCall is a tool call that a conversation refused until the user confirms it.
type PendingCall struct {
	ID, Tool  string // ID is of the question
	Args      json.RawMessage
	Reason    string       // for the question
	Untrusted []string     // sources of untrusted text in the conversation
	Next      ponder.Event // the message that followed, if any: a yes would now confirm something else
}

// IsPassed reports whether a later message followed.
func (c PendingCall) IsPassed() bool { return c.Next.ID != "" }

// Messages that confirm or reject a waiting call.
const (
	Confirmation = "Yes"
	Rejection    = "No, do not do that."
)

// FindPending returns the call that the answer of w asks the user to confirm, as the newest of its conversation. A
// [Confirmation] as the next message then runs exactly this call.
func FindPending(ctx context.Context, d *compat.Dispatcher, w compat.Job) (c PendingCall, found bool, err error) {
	c, found, err = FindAsked(ctx, d, w)
	return c, found && !c.IsPassed(), err
}

// FindAsked returns the call that the answer of w asked the user to confirm.
func FindAsked(ctx context.Context, d *compat.Dispatcher, w compat.Job) (c PendingCall, found bool, err error) {
	if w.Kind != compat.Chat {
		return c, false, nil
	}
	var questions chat.PendingApprovals
	begun := false
	for ev, err := range d.Store.Events(ctx, w.Thread, w.After) {
		if errors.Is(err, ponder.ErrNoThread) {
			return c, false, nil
		}
		if err != nil {
			return c, false, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		if _, said := ev.Body.(ponder.UserMessage); said && begun {
			c.Next = ev
			break
		}
		begun = true
		questions.Apply(ev)
	}
	open := questions.Open(time.Now())
	if len(open) == 0 {
		return c, false, nil
	}
	b := open[0].Body.(ponder.ApprovalRequested)
	c.ID, c.Tool, c.Args, c.Reason, c.Untrusted = open[0].ID, b.Tool, b.Args, b.Reason, b.Untrusted
	return c, true, nil
}
