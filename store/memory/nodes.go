package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
)

// Join implements [ponder.Nodes].
func (s *Store) Join(ctx context.Context, n ponder.Node) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("join %s: %w", n.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[n.ID] != nil {
		return fmt.Errorf("join %s: %w", n.ID, ponder.ErrTaken)
	}
	n.Beat = storerules.Now()
	s.nodes[n.ID] = &node{Node: n}
	return nil
}

// Heartbeat implements [ponder.Nodes].
func (s *Store) Heartbeat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("send heartbeat of %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isAlive(id) {
		return fmt.Errorf("send heartbeat of %s: %w", id, ponder.ErrFenced)
	}
	n := s.nodes[id]
	n.Beat, n.clock = storerules.Now(), max(n.clock, clock)
	return nil
}

// AllNodes implements [ponder.Nodes].
func (s *Store) AllNodes(ctx context.Context) ([]ponder.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []ponder.Node
	for _, n := range s.nodes {
		if !n.buried && !storerules.Forgotten(n.Beat, time.Now()) {
			nodes = append(nodes, n.Node)
		}
	}
	slices.SortStableFunc(nodes, func(a, b ponder.Node) int { return cmp.Compare(a.ID, b.ID) })
	return nodes, ctx.Err()
}

// MarkDead implements [ponder.Nodes].
func (s *Store) MarkDead(ctx context.Context, id ponder.NodeID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mark %s dead: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.nodes[id]; n != nil {
		n.buried = true
	}
	return nil
}

// Take implements [ponder.Leases].
func (s *Store) Take(ctx context.Context, id ponder.ThreadID, node ponder.NodeID) (ponder.Lease, error) {
	lease, err := s.takeLease(ctx, id, node)
	if err != nil {
		return lease, fmt.Errorf("acquire %s: %w", id, err)
	}
	return lease, nil
}

func (s *Store) takeLease(ctx context.Context, id ponder.ThreadID, node ponder.NodeID) (ponder.Lease, error) {
	if err := ctx.Err(); err != nil {
		return ponder.Lease{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.findThread(id)
	next, err := s.nextLease(t, node)
	if err != nil {
		return ponder.Lease{}, err
	}
	t.lease = next
	return ponder.Lease{Fence: t.lease.Fence, Head: t.info.Head, Elapsed: t.lease.Base}, nil
}

// nextLease returns the lease that a node would get on a thread.
func (s *Store) nextLease(t *thread, node ponder.NodeID) (storerules.Lease, error) {
	switch {
	case t == nil:
		return storerules.Lease{}, ponder.ErrNoThread
	case !s.isAlive(node):
		return storerules.Lease{}, ponder.ErrFenced
	case !s.isReplaceable(t.lease.Node):
		return storerules.Lease{}, ponder.ErrHeld
	}
	var clock time.Duration
	if dead := s.nodes[t.lease.Node]; dead != nil {
		clock = dead.clock
	}
	last := t.lease
	if t.isTainted() {
		last.Fence++ // see [ponder.Lease]
	}
	return last.Take(node, s.nodes[node].clock, clock), nil
}

// Retake implements [ponder.Leases].
func (s *Store) Retake(ctx context.Context, id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, events ...ponder.Event) ([]ponder.Event, error) {
	added, err := s.appendEvents(ctx, id, events, func(keys []string) ([]ponder.Event, error) {
		t := s.findThread(id)
		next, err := s.nextLease(t, node)
		switch {
		case err != nil:
			return nil, err
		case next.Fence != want.Fence || t.info.Head != want.Head:
			return nil, ponder.ErrStale
		}
		last := t.lease
		t.lease = next
		added, err := s.appendBatch(id, next.Fence, keys, events)
		if err != nil {
			t.lease = last
		}
		return added, err
	})
	if err != nil {
		return nil, fmt.Errorf("acquire %s and append: %w", id, err)
	}
	return added, nil
}

// Release implements [ponder.Leases].
func (s *Store) Release(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	if err := s.releaseLease(ctx, id, fence, head, elapsed); err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

func (s *Store) releaseLease(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	switch {
	case t == nil:
		return ponder.ErrNoThread
	case !s.inForce(t, fence):
		return ponder.ErrFenced
	case t.info.Head != head:
		return ponder.ErrStale
	}
	t.lease = t.lease.Release(elapsed)
	return nil
}

// Abandon implements [ponder.Leases].
func (s *Store) Abandon(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, elapsed time.Duration) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("abandon %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.threads[id]
	if t == nil || !s.inForce(t, fence) {
		return fmt.Errorf("abandon %s: %w", id, ponder.ErrFenced)
	}
	t.lease = t.lease.Abandon(elapsed)
	return nil
}

// Abandoned implements [ponder.Leases].
func (s *Store) Abandoned(ctx context.Context) ([]ponder.ThreadID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []ponder.Info
	for _, t := range s.threads {
		if hasWork := t.info.Status == ponder.Thinking || t.lease.Node != ""; !t.removed && hasWork && s.isReplaceable(t.lease.Node) {
			found = append(found, t.info)
		}
	}
	slices.SortStableFunc(found, func(a, b ponder.Info) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	var ids []ponder.ThreadID
	for _, info := range found {
		ids = append(ids, info.ID)
	}
	return ids, ctx.Err()
}
