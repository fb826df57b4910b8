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

// Fork creates a thread with the events 1 to at of another thread. The events keep their
// ids, times and runs, so that callers can compare the threads by their common part. The
// header is to, with empty fields from the other thread. The caller must set to.ID; Created
// defaults to now.
//
// After the copy, Fork adds a [ponder.SystemNote] with the origin and the inputs, such as a
// [ponder.RunPaused] or a [ponder.Steer], in the same transaction. It does not change the
// other thread, and it does not start work on the new one.
//
// A fork is possible at any event. The holder of the fork repeats calls that were in flight
// there with the same requests, unless the inputs interrupt them. It does not repeat tools
// that are marked Once, and it completes a partial Write. The cost of the copied calls
// counts against the budgets of the runs. The [ponder.Ledger] counts it once, for the other
// thread.
//
// Fork returns [ponder.ErrNoEvent], [ponder.ErrNoThread], [ponder.ErrNotInput], or
// [ponder.ErrTaken] if the new thread exists.
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
		return fmt.Errorf("the thread has %d events: %w", info.Head, ponder.ErrNoEvent)
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

// A forkCopy holds the events of a new thread and their fold. The fold knows the attempts
// in flight.
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

// loadRequests adds the requests of calls in flight from the ledger. If a request is
// unknown, the run calls the model again.
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

// newestRoot returns the newest open root run, or "".
func (c *forkCopy) newestRoot() (root ponder.RunID) {
	for _, r := range c.openRuns {
		if r.parent == nil {
			root = r.ID
		}
	}
	return root
}

// endInterrupted ends superseded attempts. They never started in this thread and cost
// nothing.
func (c *forkCopy) endInterrupted() {
	for _, id := range slices.Sorted(maps.Keys(c.intents)) {
		if in := c.intents[id]; in.superseded {
			c.add(interruptedResult(in, false))
		}
	}
}
