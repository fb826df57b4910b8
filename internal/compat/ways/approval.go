package ways

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ponder"
	"ponder/internal/compat"
	"ponder/llm"
	"ponder/tool/approval"
)

// A PendingCall is a tool call that a conversation refused until the user confirms it.
type PendingCall struct {
	ID, Tool string
	Args     json.RawMessage
	Next     ponder.Event // the message that followed, if any: a yes would now confirm something else
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
	var t callTracker
	var next ponder.Event
	for ev, err := range d.Store.Events(ctx, w.Thread, w.After) {
		if errors.Is(err, ponder.ErrNoThread) {
			return c, false, nil
		}
		if err != nil {
			return c, false, fmt.Errorf("read %s: %w", w.Thread, err)
		}
		if !t.applyEvent(ev) {
			next = ev
			break
		}
	}
	c, found = t.findPending()
	c.Next = next
	return c, found, nil
}

// A callTracker folds the events of one turn.
type callTracker struct {
	turn  approval.Turn
	begun bool
	run   ponder.RunID // of the answer
	calls []runCall
	done  map[string]bool // executed, by callKey
}

type runCall struct {
	run ponder.RunID
	llm.ToolCall
}

func callKey(name string, args json.RawMessage) string { return name + " " + string(args) }

// applyEvent returns false at the next turn.
func (t *callTracker) applyEvent(ev ponder.Event) bool {
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		if t.begun {
			return false
		}
		t.begun, t.turn.User = true, b.Content
	case ponder.AssistantMessage:
		t.turn.Answer, t.run = append(t.turn.Answer, b.Content), ev.Run
	case ponder.CallFinished:
		for _, c := range b.Message.Calls() {
			t.calls = append(t.calls, runCall{ev.Run, c})
		}
	case ponder.ToolCall:
		if t.done == nil {
			t.done = make(map[string]bool)
		}
		t.done[callKey(b.Name, b.Args)] = true
	}
	return true
}

func (t *callTracker) findPending() (PendingCall, bool) {
	gate := approval.Gate{Tools: approval.Declarations()}
	for i := len(t.calls) - 1; i >= 0; i-- {
		c := t.calls[i]
		w := approval.Request{Tool: c.Name, Args: c.Input, Turns: []approval.Turn{t.turn}}
		if c.run != t.run || t.done[callKey(c.Name, c.Input)] || gate.Check(w) == "" {
			continue
		}
		w.Turns = append(w.Turns, approval.Turn{User: Confirmation})
		if gate.Check(w) == "" {
			return PendingCall{ID: c.ID, Tool: c.Name, Args: c.Input}, true
		}
	}
	return PendingCall{}, false
}
