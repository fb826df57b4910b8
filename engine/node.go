package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ponder"
)

// A nodeRuntime registers this process as a node and sends heartbeats.
type nodeRuntime struct {
	store    ponder.Nodes
	identity ponder.Node // of the process
	logger   *slog.Logger
	clock    awakeClock
	inbox    inbox

	mu         sync.Mutex
	node       ponder.NodeID
	fenced     context.Context // done when the node may no longer write
	fence      context.CancelCauseFunc
	heartbeats sync.WaitGroup
	closed     chan struct{}
}

// Open registers the process as a node of the store, with heartbeats until Close.
func (e *Engine) Open(ctx context.Context) error {
	e.closed = make(chan struct{})
	e.clock.tick(time.Now())
	if err := e.joinStore(ctx); err != nil {
		return err
	}
	e.heartbeats.Go(e.sendHeartbeats)
	return nil
}

// Close marks the node dead, so that its threads are free at once. All Work must have ended.
func (e *Engine) Close(ctx context.Context) error {
	close(e.closed)
	e.heartbeats.Wait()
	node, _ := e.currentNode()
	if err := e.Store.MarkDead(ctx, node); err != nil {
		return fmt.Errorf("mark node %s dead: %w", node, err)
	}
	return nil
}

// joinStore registers the process as a new node.
func (n *nodeRuntime) joinStore(ctx context.Context) error {
	node := n.identity
	if node.ID == "" || n.node != "" {
		node.ID = ponder.NodeID(ponder.NewID("nod"))
	}
	if err := n.store.Join(ctx, node); err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.node = node.ID
	n.fenced, n.fence = context.WithCancelCause(context.Background())
	return nil
}

// currentNode returns the node of the process, and a ctx that ends with the node.
func (n *nodeRuntime) currentNode() (ponder.NodeID, context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.node, n.fenced
}

// sendHeartbeats sends heartbeats. If the node misses them, beat ends its work and joins as a new
// node. If the join fails, the work ends with the error of the join.
func (n *nodeRuntime) sendHeartbeats() {
	tick := time.NewTicker(ponder.HeartbeatInterval)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-n.closed:
			n.fence(context.Canceled)
			return
		case <-tick.C:
		}
		now := time.Now()
		n.clock.tick(now)
		node, _ := n.currentNode()
		ctx, cancel := context.WithTimeout(context.Background(), ponder.HeartbeatInterval)
		err := n.store.Heartbeat(ctx, node, n.clock.total(now))
		cancel()
		switch {
		case err == nil:
			last = now
		case errors.Is(err, ponder.ErrFenced) || errors.Is(err, ponder.ErrLost) || time.Since(last) > ponder.DeadAfter-ponder.HeartbeatInterval:
			n.logger.Warn("node is dead; joining as a new node", "node", node, "error", err)
			fence := n.fence
			ctx, cancel := context.WithTimeout(context.Background(), ponder.HeartbeatInterval)
			if err := n.joinStore(ctx); err != nil {
				n.logger.Error("join again", "error", err)
				fence(err)
			} else {
				last = now
				fence(ponder.ErrFenced)
			}
			cancel()
		default:
			n.logger.Warn("heartbeat failed", "node", node, "error", err)
		}
	}
}

// An awakeClock counts the time in which the process runs. It ignores gaps between ticks,
// in which the machine slept or the process was stopped, and clocks that run backwards.
type awakeClock struct {
	mu   sync.Mutex
	last time.Time
	sum  time.Duration
}

// maxGap is the longest time between two ticks that counts.
const maxGap = 2 * ponder.HeartbeatInterval

func (a *awakeClock) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum += a.elapsedAt(now)
	a.last = now
}

// total returns the counted time until now.
func (a *awakeClock) total(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum + a.elapsedAt(now)
}

func (a *awakeClock) elapsedAt(now time.Time) time.Duration {
	if d := now.Sub(a.last); !a.last.IsZero() && d > 0 && d <= maxGap {
		return d
	}
	return 0
}
