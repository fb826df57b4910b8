package sqlite

import (
	"context"
	"fmt"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
)

// Join implements [ponder.Nodes].
func (s *Store) Join(ctx context.Context, n ponder.Node) error {
	if err := s.submit(ctx, len(n.ID)+len(n.Host)+len(n.Boot)+len(n.Start), func(tx *tx) error { return tx.joinNode(n) }); err != nil {
		return fmt.Errorf("join %s: %w", n.ID, err)
	}
	return nil
}

func (tx *tx) joinNode(n ponder.Node) error {
	now := storerules.Now()
	if tx.exec(`INSERT OR IGNORE INTO ponder_node (id, host, boot, pid, start, beat, clock, buried) VALUES (?, ?, ?, ?, ?, ?, 0, 0)`,
		string(n.ID), n.Host, n.Boot, int64(n.PID), n.Start, toMicros(now)) == 0 {
		return ponder.ErrTaken
	}
	tx.exec(`DELETE FROM ponder_node WHERE beat < ? AND NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.node = ponder_node.id AND t.node <> '')`,
		toMicros(now.Add(-storerules.ForgetAfter)))
	tx.nodes = make(map[ponder.NodeID]*node)
	return nil
}

// Heartbeat implements [ponder.Nodes].
func (s *Store) Heartbeat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	if err := s.submitVolatile(ctx, func(tx *tx) error { return tx.beatNode(id, clock) }); err != nil {
		return fmt.Errorf("send heartbeat of %s: %w", id, err)
	}
	return nil
}

func (tx *tx) beatNode(id ponder.NodeID, clock time.Duration) error {
	if !tx.isAlive(id) {
		return ponder.ErrFenced
	}
	n := tx.loadNode(id)
	n.beat, n.clock = storerules.Now(), max(n.clock, clock)
	tx.exec(`UPDATE ponder_node SET beat = ?, clock = ? WHERE id = ?`, toMicros(n.beat), int64(n.clock), string(id))
	return nil
}

// AllNodes implements [ponder.Nodes].
func (s *Store) AllNodes(ctx context.Context) ([]ponder.Node, error) {
	nodes, err := s.allNodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", explainError(err))
	}
	return nodes, nil
}

func (s *Store) allNodes(ctx context.Context) (nodes []ponder.Node, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id, host, boot, pid, start, beat FROM ponder_node
		WHERE NOT buried AND beat >= ? ORDER BY id`, toMicros(time.Now().Add(-storerules.ForgetAfter)))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n ponder.Node
		var beat int64
		if err := rows.Scan(&n.ID, &n.Host, &n.Boot, &n.PID, &n.Start, &beat); err != nil {
			return nil, err
		}
		n.Beat = fromMicros(beat)
		nodes = append(nodes, n)
	}
	return nodes, rows.Err()
}

// MarkDead implements [ponder.Nodes].
func (s *Store) MarkDead(ctx context.Context, id ponder.NodeID) error {
	err := s.submit(ctx, 0, func(tx *tx) error {
		tx.exec(`UPDATE ponder_node SET buried = 1 WHERE id = ?`, string(id))
		delete(tx.nodes, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark %s dead: %w", id, err)
	}
	return nil
}

// Take implements [ponder.Leases].
func (s *Store) Take(ctx context.Context, id ponder.ThreadID, node ponder.NodeID) (lease ponder.Lease, err error) {
	err = s.submitVolatile(ctx, func(tx *tx) (err error) {
		lease, err = tx.takeLease(id, node)
		return err
	})
	if err != nil {
		return ponder.Lease{}, fmt.Errorf("acquire %s: %w", id, err)
	}
	return lease, nil
}

func (tx *tx) takeLease(id ponder.ThreadID, node ponder.NodeID) (ponder.Lease, error) {
	t := tx.loadThread(id)
	next, err := tx.nextLease(t, node)
	if err != nil {
		return ponder.Lease{}, err
	}
	tx.grantLease(t, next)
	return leaseOf(t), nil
}

// nextLease returns the lease that a node would get on a thread.
func (tx *tx) nextLease(t *thread, node ponder.NodeID) (storerules.Lease, error) {
	switch {
	case t == nil || t.removed:
		return storerules.Lease{}, ponder.ErrNoThread
	case !tx.isAlive(node):
		return storerules.Lease{}, ponder.ErrFenced
	case !tx.isReplaceable(t.lease.Node):
		return storerules.Lease{}, ponder.ErrHeld
	}
	last := t.lease
	if t.isTainted() {
		last.Fence++ // see [ponder.Lease]
	}
	return last.Take(node, tx.loadNode(node).clock, tx.loadNode(last.Node).clock), nil
}

func leaseOf(t *thread) ponder.Lease {
	return ponder.Lease{Fence: t.lease.Fence, Head: t.head, Elapsed: t.lease.Base}
}

// Retake implements [ponder.Leases].
func (s *Store) Retake(ctx context.Context, id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, events ...ponder.Event) ([]ponder.Event, error) {
	added, err := s.appendEvents(ctx, id, events, func(tx *tx, b *batch) (ponder.Seq, error) { return tx.retakeLease(id, node, want, b) })
	if err != nil {
		return nil, fmt.Errorf("acquire %s and append: %w", id, err)
	}
	return added, nil
}

func (tx *tx) retakeLease(id ponder.ThreadID, node ponder.NodeID, want ponder.Lease, b *batch) (ponder.Seq, error) {
	t := tx.loadThread(id)
	next, err := tx.nextLease(t, node)
	switch {
	case err != nil:
		return 0, err
	case next.Fence != want.Fence || t.head != want.Head:
		return 0, ponder.ErrStale
	}
	last := t.lease
	t.lease, t.changed = next, true // append writes it
	head, err := tx.appendBatch(id, next.Fence, b)
	if err != nil {
		t.lease, t.changed = last, false
		return 0, err
	}
	tx.saveThread(t)
	return head, nil
}

// Release implements [ponder.Leases].
func (s *Store) Release(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	if err := s.submitVolatile(ctx, func(tx *tx) error { return tx.releaseLease(id, fence, head, elapsed) }); err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

func (tx *tx) releaseLease(id ponder.ThreadID, fence ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	t := tx.loadThread(id)
	switch {
	case t == nil:
		return ponder.ErrNoThread
	case !tx.inForce(t, fence):
		return ponder.ErrFenced
	case t.head != head:
		return ponder.ErrStale
	}
	tx.grantLease(t, t.lease.Release(elapsed))
	return nil
}

// Abandon implements [ponder.Leases].
func (s *Store) Abandon(ctx context.Context, id ponder.ThreadID, fence ponder.Fence, elapsed time.Duration) error {
	err := s.submitVolatile(ctx, func(tx *tx) error {
		t := tx.loadThread(id)
		if t == nil || !tx.inForce(t, fence) {
			return ponder.ErrFenced
		}
		tx.grantLease(t, t.lease.Abandon(elapsed))
		return nil
	})
	if err != nil {
		return fmt.Errorf("abandon %s: %w", id, err)
	}
	return nil
}

// grantLease stores a new lease of a thread.
func (tx *tx) grantLease(t *thread, l storerules.Lease) {
	t.lease, t.changed = l, true
	tx.saveThread(t)
}

// Abandoned implements [ponder.Leases].
func (s *Store) Abandoned(ctx context.Context) ([]ponder.ThreadID, error) {
	ids, err := s.abandonedThreads(ctx)
	if err != nil {
		return nil, fmt.Errorf("list abandoned threads: %w", explainError(err))
	}
	return ids, nil
}

const selectAbandoned = `SELECT t.id FROM ponder_thread t WHERE (t.status = 'thinking' OR t.node <> '')
	AND NOT EXISTS (SELECT 1 FROM ponder_node n WHERE n.id = t.node AND NOT n.buried AND n.beat > ? AND n.beat < ?)
	ORDER BY t.created, t.id`

func (s *Store) abandonedThreads(ctx context.Context) (ids []ponder.ThreadID, err error) {
	rows, err := s.read.QueryContext(ctx, selectAbandoned, oldestBeat(), newestBeat())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id ponder.ThreadID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
