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
type life struct {
	store   ponder.Nodes
	config  ponder.Node // who the process is
	logger  *slog.Logger
	clock   awake
	letters office

	mu     sync.Mutex
	node   ponder.NodeID
	dead   context.Context // done when the node may not write any more
	die    context.CancelCauseFunc
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
	node, _ := m.self()
	if err := m.Store.MarkDead(ctx, node); err != nil {
		return fmt.Errorf("leave %s: %w", node, err)
	}
	return nil
}

// join makes the process a new node.
func (l *life) join(ctx context.Context) error {
	node := l.config
	if node.ID == "" || l.node != "" {
		node.ID = ponder.NodeID(ponder.NewID("nod"))
	}
	if err := l.store.Join(ctx, node); err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.node = node.ID
	l.dead, l.die = context.WithCancelCause(context.Background())
	return nil
}

// self returns the node that the process is now, and what ends with it.
func (l *life) self() (ponder.NodeID, context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.node, l.dead
}

// beat keeps the node alive. A node that misses its own beats stops what it
// does, and the process goes on as a new node. If it can't be one, what the node
// did ends with why.
func (l *life) beat() {
	tick := time.NewTicker(ponder.BeatEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-l.closed:
			l.die(context.Canceled)
			return
		case <-tick.C:
		}
		now := time.Now()
		l.clock.tick(now)
		node, _ := l.self()
		ctx, cancel := context.WithTimeout(context.Background(), ponder.BeatEvery)
		err := l.store.Beat(ctx, node, l.clock.total(now))
		cancel()
		switch {
		case err == nil:
			last = now
		case errors.Is(err, ponder.ErrFenced) || errors.Is(err, ponder.ErrLost) || time.Since(last) > ponder.DeadAfter-ponder.BeatEvery:
			l.logger.Warn("lost the lease of this process; going on as a new one", "node", node, "error", err)
			die := l.die
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
type awake struct {
	mu   sync.Mutex
	last time.Time
	sum  time.Duration
}

// maxGap is the longest time between two looks that counts.
const maxGap = 2 * ponder.BeatEvery

func (a *awake) tick(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sum += a.since(now)
	a.last = now
}

// total returns the time counted until now.
func (a *awake) total(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sum + a.since(now)
}

func (a *awake) since(now time.Time) time.Duration {
	if d := now.Sub(a.last); !a.last.IsZero() && d > 0 && d <= maxGap {
		return d
	}
	return 0
}
