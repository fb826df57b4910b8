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

// A life is what a process is to its store: a node that beats.
type nodeRuntime struct {
	store    ponder.Nodes
	identity ponder.Node // who the process is
	logger   *slog.Logger
	clock    awakeClock
	inbox    inbox

	mu     sync.Mutex
	node   ponder.NodeID
	fenced context.Context // done when the node may not write any more
	fence  context.CancelCauseFunc
	beats  sync.WaitGroup
	closed chan struct{}
}

// Open makes the process a node of the store, which beats until Close.
func (m *Engine) Open(ctx context.Context) error {
	m.closed = make(chan struct{})
	m.clock.tick(time.Now())
	if err := m.join(ctx); err != nil {
		return err
	}
	m.beats.Go(m.beat)
	return nil
}

// Close ends the node, so that what it held is free at once. Stop all Work before.
func (m *Engine) Close(ctx context.Context) error {
	close(m.closed)
	m.beats.Wait()
	node, _ := m.current()
	if err := m.Store.MarkDead(ctx, node); err != nil {
		return fmt.Errorf("leave %s: %w", node, err)
	}
	return nil
}

// join makes the process a new node.
func (l *nodeRuntime) join(ctx context.Context) error {
	node := l.identity
	if node.ID == "" || l.node != "" {
		node.ID = ponder.NodeID(ponder.NewID("nod"))
	}
	if err := l.store.Join(ctx, node); err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node = node.ID
	l.fenced, l.fence = context.WithCancelCause(context.Background())
	return nil
}

// self returns the node that the process is now, and what ends with it.
func (l *nodeRuntime) current() (ponder.NodeID, context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node, l.fenced
}

// beat keeps the node alive. A node that misses its own beats stops what it
// does, and the process goes on as a new node. If it can't be one, what the node
// did ends with why.
func (l *nodeRuntime) beat() {
	tick := time.NewTicker(ponder.BeatEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-l.closed:
			l.fence(context.Canceled)
			return
		case <-tick.C:
		}
		now := time.Now()
		l.clock.tick(now)
		node, _ := l.current()
		ctx, cancel := context.WithTimeout(context.Background(), ponder.BeatEvery)
		err := l.store.Beat(ctx, node, l.clock.total(now))
		cancel()
		switch {
		case err == nil:
			last = now
		case errors.Is(err, ponder.ErrFenced) || errors.Is(err, ponder.ErrLost) || time.Since(last) > ponder.DeadAfter-ponder.BeatEvery:
			l.logger.Warn("lost the lease of this process; going on as a new one", "node", node, "error", err)
			die := l.fence
			ctx, cancel := context.WithTimeout(context.Background(), ponder.BeatEvery)
			if err := l.join(ctx); err != nil {
				l.logger.Error("join again", "error", err)
				die(err)
			} else {
				last = now
				die(ponder.ErrFenced)
			}
			cancel()
		default:
			l.logger.Warn("heartbeat failed", "node", node, "error", err)
		}
	}
}

// awake counts the time in which the process runs: gaps in which nobody looked
// at the clock, because the machine slept or the process was stopped, do not
// count, nor does time that runs backwards.
type awakeClock struct {
	mu   sync.Mutex
	last time.Time
	sum  time.Duration
}

// maxGap is the longest time between two looks that counts.
const maxGap = 2 * ponder.BeatEvery

func (a *awakeClock) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum += a.since(now)
	a.last = now
}

// total returns the time counted until now.
func (a *awakeClock) total(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum + a.since(now)
}

func (a *awakeClock) since(now time.Time) time.Duration {
	if d := now.Sub(a.last); !a.last.IsZero() && d > 0 && d <= maxGap {
		return d
	}
	return 0
}
