package memory

import (
	"context"
	"fmt"
	"slices"

	"ponder"
	"ponder/store/internal/storerules"
)

// Erase implements [ponder.Log].
func (s *Store) Erase(ctx context.Context, id ponder.ThreadID, seqs ...ponder.Seq) error {
	if err := s.eraseEvents(ctx, id, seqs); err != nil {
		return fmt.Errorf("erase from %s: %w", id, err)
	}
	return nil
}

func (s *Store) eraseEvents(ctx context.Context, id ponder.ThreadID, seqs []ponder.Seq) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	if t == nil {
		return ponder.ErrNoThread
	}
	seqs, err := storerules.NormalizeSeqs(seqs, t.info.Head)
	if err != nil || len(seqs) == 0 {
		return err
	}
	events := slices.Clone(t.events) // concurrent readers use the old slice
	for _, seq := range seqs {
		ev := events[seq-1]
		if storerules.HasRequest(ev) {
			a := t.attempts[attemptID{ev.Run, ev.Cause}]
			a.request = nil
			t.attempts[attemptID{ev.Run, ev.Cause}] = a
		}
		t.info.Title = storerules.TitleAfterErase(t.info.Title, ev)
		if events[seq-1], err = roundTrip(ev.WithoutContent()); err != nil {
			return err // cannot happen for a stored event
		}
	}
	t.events = events
	clear(t.folds)
	if t.lease.Node == "" {
		t.lease.Fence++ // see [ponder.Lease]
	} else {
		t.tainted = t.lease.Fence
	}
	return nil
}
