package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"ponder"
)

// Fork makes a thread that begins with the events 1 to at of another, as they
// are: their ids, times and runs are the same, so that two threads can be compared
// by what they have in common. To says what the new thread is called; what is empty
// in it is as in the other, but for the ID, which must be set, and the time of its
// making, which is now.
//
// After the copy stands a [SystemNote] with the origin, and then what more is
// given, which must be inputs: a [RunPaused], a [Steer]. All of that is one
// transaction. From there on the new thread goes its own way, and the other knows
// nothing of it. Nobody works on it yet.
//
// Any event will do to fork at. Calls that were in flight there are made again in
// the fork, as they were asked, unless the inputs interrupt them; tools that must
// not be used twice are not. A Write that was cut is completed. What the copied
// calls cost still counts against the budgets of the runs, but in the sums of the
// [Ledger] only once, for the other thread.
//
// It returns ErrNoEvent, ErrNoThread, ErrNotInput, or ErrTaken if the new thread
// is there already.
func Fork(ctx context.Context, store ponder.Store, from ponder.ThreadID, at ponder.Seq, to ponder.Thread, inputs ...ponder.Event) error {
	if err := copyThread(ctx, store, from, at, to, inputs); err != nil {
		return fmt.Errorf("fork %s at event %d: %w", from, at, err)
	}
	return nil
}

func copyThread(ctx context.Context, store ponder.Store, from ponder.ThreadID, at ponder.Seq, to ponder.Thread, inputs []ponder.Event) error {
	info, err := store.Thread(ctx, from)
	if err != nil {
		return err
	}
	if at < 1 || at > info.Head {
		return fmt.Errorf("it has %d events: %w", info.Head, ponder.ErrNoEvent)
	}
	for _, ev := range inputs {
		if !ev.IsInput() {
			return fmt.Errorf("%s: %w", ev.Body.Type(), ponder.ErrNotInput)
		}
	}
	c := forkCopy{threadState: newThreadState(nil, nil)}
	for ev, err := range store.Events(ctx, from, 0) {
		if err != nil {
			return err
		}
		c.add(ev)
		if ev.Seq == at {
			break
		}
	}
	if err := c.loadRequests(ctx, store, from); err != nil {
		return err
	}
	note := ponder.Event{Run: c.newestRoot(), Body: ponder.SystemNote{Content: fmt.Sprintf("forked from %s at event %d", from, at), Reason: "fork", From: from, At: at}}
	c.add(note)
	for _, ev := range inputs {
		ev.After = 0
		c.add(ev)
	}
	c.endInterrupted()
	old := info.Thread
	to = ponder.Thread{
		ID: to.ID, Kind: cmp.Or(to.Kind, old.Kind), Title: cmp.Or(to.Title, old.Title), Owner: cmp.Or(to.Owner, old.Owner),
		Created: cmp.Or(to.Created, time.Now()), Model: cmp.Or(to.Model, old.Model),
	}
	return store.Create(ctx, to, c.events...)
}

// A copying is the events of a new thread. They are folded, to know what is in
// flight at their end.
type forkCopy struct {
	*threadState
	events []ponder.Event
}

func (c *forkCopy) add(ev ponder.Event) {
	ev.Thread, ev.Seq = "", 0
	c.events = append(c.events, ev)
	ev.Seq = ponder.Seq(len(c.events))
	c.apply(ev)
}

// requests gives the calls in flight what they ask, which is not in the log. One
// whose request is not known any more is asked anew by its run.
func (c *forkCopy) loadRequests(ctx context.Context, ledger ponder.Ledger, from ponder.ThreadID) error {
	for i, ev := range c.events {
		b, ok := ev.Body.(ponder.CallStarted)
		if !ok || c.intents[string(ev.Run)+" "+ev.Cause] == nil {
			continue
		}
		req, err := ledger.Request(ctx, from, ev.Run, ev.Cause)
		if err != nil {
			return err
		}
		b.Request = req
		c.events[i].Body = b
	}
	return nil
}

// root returns the newest root run that is open, or "".
func (c *forkCopy) newestRoot() (root ponder.RunID) {
	for _, r := range c.openRuns {
		if r.parent == nil {
			root = r.ID
		}
	}
	return root
}

// interrupted ends what was in flight and is not wanted any more. It was never
// begun in this thread, and so costs nothing.
func (c *forkCopy) endInterrupted() {
	for _, id := range slices.Sorted(maps.Keys(c.intents)) {
		if in := c.intents[id]; in.superseded {
			c.add(interruptedResult(in, false))
		}
	}
}
