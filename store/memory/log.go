package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"ponder"
	"ponder/store/internal/storerules"
)

// Append implements [ponder.Log].
func (s *Store) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	added, err := s.appendEvents(ctx, id, events, func(keys []string) ([]ponder.Event, error) { return s.appendBatch(id, fence, keys, events) })
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", id, err)
	}
	return added, nil
}

// appendEvents appends events with do, which receives their keys.
func (s *Store) appendEvents(ctx context.Context, id ponder.ThreadID, events []ponder.Event, do func(keys []string) ([]ponder.Event, error)) ([]ponder.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	keys, err := storerules.Keys(events)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	added, err := do(keys)
	s.mu.Unlock()
	if len(added) > 0 {
		s.hub.Hint(id, added[len(added)-1].Seq)
	}
	return added, err
}

// appendBatch appends events. The caller holds s.mu.
func (s *Store) appendBatch(id ponder.ThreadID, fence ponder.Fence, keys []string, events []ponder.Event) ([]ponder.Event, error) {
	t := s.threads[id]
	if t == nil || t.removed && fence == 0 {
		return nil, ponder.ErrNoThread
	}
	if err := storerules.CheckAppend(fence, s.inForce(t, fence), t.info.Head, events); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(keys, func(key string) bool { return t.keys[key] != 0 }); i >= 0 {
		return nil, fmt.Errorf("%w: %s", ponder.ErrTaken, keys[i])
	}
	b, err := newBatch(id, t.info.Head, events)
	if err != nil {
		return nil, err
	}
	t.addBatch(b, keys, fence != 0)
	s.addResults(t, b)
	return b.stamped, nil
}

// A batch is an encoded append.
type batch struct {
	stamped  []ponder.Event
	stored   []ponder.Event // in the form that readers get
	attempts []attempt
	results  []storerules.Result
}

func newBatch(id ponder.ThreadID, head ponder.Seq, events []ponder.Event) (b batch, err error) {
	now := storerules.Now()
	b.stamped, b.stored = make([]ponder.Event, len(events)), make([]ponder.Event, len(events))
	for i, ev := range events {
		ev = ev.Stamp(id, head+ponder.Seq(i)+1, now)
		b.stamped[i] = ev
		if b.stored[i], err = roundTrip(ev); err != nil {
			return b, err
		}
		if start, ok := storerules.Started(ev); ok {
			a := attempt{Start: start}
			if req := storerules.Request(ev); req != nil {
				if a.request, err = json.Marshal(req); err != nil {
					return b, fmt.Errorf("encode request of %s %s: %w", ev.Run, ev.Cause, err)
				}
			}
			b.attempts = append(b.attempts, a)
		}
		if r, ok := storerules.Finished(ev); ok {
			b.results = append(b.results, r)
		}
	}
	return b, nil
}

// roundTrip returns an event in the form that readers get.
func roundTrip(ev ponder.Event) (stored ponder.Event, err error) {
	js, err := ev.MarshalJSON()
	if err != nil {
		return stored, err
	}
	return stored, stored.UnmarshalJSON(js)
}

// addBatch adds the events of a batch to a thread, without the costs. If held is set, a holder
// wrote them.
func (t *thread) addBatch(b batch, keys []string, held bool) {
	for i, key := range keys {
		if key != "" {
			t.keys[key] = b.stored[i].Seq
		}
	}
	for i, ev := range b.stored {
		t.info = storerules.ApplyEvent(t.info, b.stamped[i])
		if held {
			t.lease.Seen = max(t.lease.Seen, ev.Elapsed)
		}
	}
	t.events = append(t.events, b.stored...)
	for _, a := range b.attempts {
		t.attempts[attemptID{a.Run, a.Cause}] = a
	}
}

// addResults adds the results of a batch to the ledger. The caller holds s.mu.
func (s *Store) addResults(t *thread, b batch) {
	for _, r := range b.results {
		a := t.attempts[attemptID{r.Run, r.Cause}]
		s.results = append(s.results, result{t.info.ID, r.WithStart(a.Start)})
	}
}

// Events implements [ponder.Log].
func (s *Store) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for {
			page, err := s.eventPage(ctx, id, after)
			if err != nil {
				yield(ponder.Event{}, fmt.Errorf("read %s: %w", id, err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
		}
	}
}

// pageSize is the number of events that are read between checks of ctx.
const pageSize = 256

func (s *Store) eventPage(ctx context.Context, id ponder.ThreadID, after ponder.Seq) ([]ponder.Event, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return nil, ponder.ErrNoThread
	}
	rest := t.events[min(max(0, int(after)), len(t.events)):]
	return rest[:min(pageSize, len(rest)):min(pageSize, len(rest))], nil
}

// Lookup implements [ponder.Log].
func (s *Store) Lookup(ctx context.Context, id ponder.ThreadID, like ponder.Event) (ev ponder.Event, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return ev, false, fmt.Errorf("look up event in %s: %w", id, ponder.ErrNoThread)
	}
	if seq := t.keys[like.Key()]; seq > 0 {
		ev = t.events[seq-1]
	}
	return ev, ev.Seq > 0, ctx.Err()
}

// Watch implements [ponder.Log].
func (s *Store) Watch(id ponder.ThreadID) (heads <-chan ponder.Seq, stop func()) {
	return s.hub.Watch(id)
}
