package main

import (
	"context"
	"slices"
	"sync"

	"ponder"
)

// A turnUpdate is an event of a conversation, a delta of an answer that is being written, or
// the error that ends them.
type turnUpdate struct {
	event *ponder.Event
	delta ponder.Delta
	err   error
}

// updates sends what comes after an event, until ctx is done. A delta comes behind the event
// that its call began with, and before the event that has all of the text.
func (c *conversation) updates(ctx context.Context, after ponder.Seq) <-chan turnUpdate {
	events, lost := pump(ctx, c.store, c.id, after)
	thread, out := c.id, make(chan turnUpdate)
	send := func(u turnUpdate) bool {
		select {
		case out <- u:
			return true
		case <-ctx.Done():
			return false
		}
	}
	flush := func() bool {
		for _, d := range c.deltas.take(thread, after) {
			if !send(turnUpdate{delta: d}) {
				return false
			}
		}
		return true
	}
	go func() {
		for flush() {
			select {
			case <-c.deltas.bell:
			case ev := <-events:
				if !flush() || !send(turnUpdate{event: &ev}) {
					return
				}
				after = ev.Seq
			case err := <-lost:
				send(turnUpdate{err: err})
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// A deltaBuffer holds what models write in turns, until it is taken. It is safe for
// concurrent use, and add does not wait.
type deltaBuffer struct {
	bell chan struct{} // holds something when there is more

	mu   sync.Mutex
	list []ponder.Delta
}

func (b *deltaBuffer) add(d ponder.Delta) {
	if d.Text == "" {
		return
	}
	b.mu.Lock()
	if n := len(b.list) - 1; n >= 0 && b.list[n].Key == d.Key && b.list[n].Attempt == d.Attempt && b.list[n].Offset+len(b.list[n].Text) == d.Offset {
		b.list[n].Text += d.Text
	} else {
		b.list = append(b.list, d)
	}
	b.mu.Unlock()
	select {
	case b.bell <- struct{}{}:
	default:
	}
}

// take removes and returns the deltas of calls that began up to seen. Those of other threads
// are of no use, and taken with them.
func (b *deltaBuffer) take(thread ponder.ThreadID, seen ponder.Seq) []ponder.Delta {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := slices.IndexFunc(b.list, func(d ponder.Delta) bool { return d.Thread == thread && d.Began > seen })
	if n < 0 {
		n = len(b.list)
	}
	list := b.list[:n:n]
	b.list = b.list[n:]
	return slices.DeleteFunc(list, func(d ponder.Delta) bool { return d.Thread != thread })
}
