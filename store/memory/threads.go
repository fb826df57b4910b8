package memory

import (
	"context"
	"fmt"
	"slices"

	"ponder"
	"ponder/store/internal/storerules"
)

// Create implements [ponder.Threads].
func (s *Store) Create(ctx context.Context, header ponder.Thread, events ...ponder.Event) error {
	if err := s.createThread(ctx, header, events); err != nil {
		return fmt.Errorf("create %s: %w", header.ID, err)
	}
	if len(events) > 0 {
		s.hub.Hint(header.ID, ponder.Seq(len(events)))
	}
	return nil
}

func (s *Store) createThread(ctx context.Context, header ponder.Thread, events []ponder.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	keys, err := storerules.Keys(events)
	if err != nil {
		return err
	}
	b, err := newBatch(header.ID, 0, events)
	if err != nil {
		return err
	}
	header, err = storerules.Header(header)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findThread(header.ID) != nil {
		return fmt.Errorf("thread exists already: %w", ponder.ErrTaken)
	}
	t := &thread{
		info:     ponder.Info{Thread: header, Updated: header.Created, Status: ponder.Created},
		keys:     make(map[string]ponder.Seq),
		attempts: make(map[attemptID]attempt),
		folds:    make(map[string]checkpoint),
	}
	if old := s.threads[header.ID]; old != nil {
		t.lease.Fence = old.lease.Fence
	}
	t.addBatch(b, keys, true)
	for _, a := range b.attempts { // their source thread counts their cost
		t.attempts[attemptID{a.Run, a.Cause}] = a
	}
	s.threads[header.ID] = t
	return nil
}

// Thread implements [ponder.Threads].
func (s *Store) Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch t := s.threads[id]; {
	case t == nil:
		return ponder.Info{}, fmt.Errorf("thread %s: %w", id, ponder.ErrNoThread)
	case t.removed:
		return ponder.Info{}, fmt.Errorf("thread %s: %w", id, ponder.ErrRemoved)
	default:
		return s.currentInfo(t), ctx.Err()
	}
}

// currentInfo returns the current info of a thread. The caller holds s.mu.
func (s *Store) currentInfo(t *thread) ponder.Info {
	info := t.info
	info.Held = s.isAlive(t.lease.Node)
	return info
}

// List implements [ponder.Threads].
func (s *Store) List(ctx context.Context, filter ponder.Filter) ([]ponder.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []ponder.Info // sorted, at most filter.Limit
	for _, t := range s.threads {
		if t.removed {
			continue
		}
		info := s.currentInfo(t)
		if !storerules.Matches(filter, info) {
			continue
		}
		if filter.Limit <= 0 {
			found = append(found, info)
			continue
		}
		i, _ := slices.BinarySearchFunc(found, info.Position(), func(f ponder.Info, p ponder.Position) int { return f.Position().Compare(p) })
		if i < filter.Limit {
			found = slices.Insert(found, i, info)
			found = found[:min(len(found), filter.Limit)]
		}
	}
	if filter.Limit <= 0 {
		slices.SortStableFunc(found, func(a, b ponder.Info) int { return a.Position().Compare(b.Position()) })
	}
	return found, ctx.Err()
}

// Remove implements [ponder.Threads].
func (s *Store) Remove(ctx context.Context, id ponder.ThreadID) error {
	if err := s.removeThread(ctx, id); err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	s.hub.Hint(id, 0)
	return nil
}

func (s *Store) removeThread(ctx context.Context, id ponder.ThreadID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return ponder.ErrNoThread
	}
	s.threads[id] = &thread{removed: true, lease: storerules.Lease{Fence: t.lease.Fence + 1}}
	return nil
}
