package metrics

import (
	"context"
	"errors"
	"time"

	"ponder"
)

// A store is a store whose appends a meter observes.
type store struct {
	ponder.Store
	meter *Meter
}

// Store returns a store that forwards to s and reports to the meter.
func (m *Meter) Store(s ponder.Store) ponder.Store { return &store{s, m} }

// Append implements [ponder.Log].
func (s *store) Append(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	began := s.meter.now()
	stamped, err := s.Store.Append(ctx, id, fence, events...)
	if err == nil {
		s.meter.cfg.Traces.recordStarts(ctx, id, stamped)
	}
	s.meter.observeAppend(s.Store, id, fence, stamped, began, err)
	return stamped, err
}

// Create implements [ponder.Threads].
func (s *store) Create(ctx context.Context, t ponder.Thread, events ...ponder.Event) error {
	err := s.Store.Create(ctx, t, events...)
	if err == nil {
		s.meter.cfg.Traces.recordStarts(ctx, t.ID, events)
		s.meter.observeCreate(t.ID, events)
	}
	return err
}

// Remove implements [ponder.Threads].
func (s *store) Remove(ctx context.Context, id ponder.ThreadID) error {
	err := s.Store.Remove(ctx, id)
	if err == nil {
		s.meter.noteReleased(id)
	}
	return err
}

// Take implements [ponder.Leases].
func (s *store) Take(ctx context.Context, id ponder.ThreadID, node ponder.NodeID) (ponder.Lease, error) {
	lease, err := s.Store.Take(ctx, id, node)
	if err == nil {
		s.meter.noteAcquired(id)
	}
	return lease, err
}

// Retake implements [ponder.Leases].
func (s *store) Retake(ctx context.Context, id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, events ...ponder.Event) ([]ponder.Event, error) {
	began := s.meter.now()
	stamped, err := s.Store.Retake(ctx, id, node, want, events...)
	if err == nil {
		s.meter.noteAcquired(id)
		s.meter.cfg.Traces.recordStarts(ctx, id, stamped)
	}
	s.meter.observeAppend(s.Store, id, want.Fence, stamped, began, err)
	return stamped, err
}

// Release implements [ponder.Leases].
func (s *store) Release(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	err := s.Store.Release(ctx, id, fence, head, elapsed)
	if err == nil || errors.Is(err, ponder.ErrFenced) {
		s.meter.noteReleased(id)
	}
	return err
}

// Abandon implements [ponder.Leases].
func (s *store) Abandon(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, elapsed time.Duration) error {
	err := s.Store.Abandon(ctx, id, fence, elapsed)
	if err == nil || errors.Is(err, ponder.ErrFenced) {
		s.meter.noteReleased(id)
	}
	return err
}

// Heartbeat implements [ponder.Nodes].
func (s *store) Heartbeat(ctx context.Context, node ponder.NodeID, clock time.Duration) error {
	err := s.Store.Heartbeat(ctx, node, clock)
	if errors.Is(err, ponder.ErrFenced) {
		s.meter.noteAllReleased()
	}
	return err
}
