package placement

import (
	"context"
	"errors"
	"time"

	"ponder"
)

// Intervals of a serving process.
const (
	sweepEvery   = ponder.HeartbeatInterval
	cleanupEvery = time.Minute
)

// A sweeper starts abandoned threads.
type sweeper struct {
	*Placement
	alive       map[ponder.NodeID]bool
	abandoned   map[ponder.ThreadID]bool // at the previous sweep
	lastCleanup time.Time
}

// sweepLoop runs until the placement is closed.
func (p *Placement) sweepLoop() {
	s := &sweeper{Placement: p, lastCleanup: time.Now()}
	for sleepContext(p.ctx, sweepEvery) {
		if err := s.sweepOnce(p.ctx); err != nil && p.ctx.Err() == nil {
			p.Logger.Warn("cannot list abandoned threads", "error", err)
		}
	}
}

// sweepOnce starts abandoned threads: all after a node died, otherwise those that were abandoned
// at the previous sweep too. So a process that just created a thread has time to start it.
func (s *sweeper) sweepOnce(ctx context.Context) error {
	buried, err := MarkDeadNodes(ctx, s.Store, s.Node)
	if err != nil {
		return err
	}
	nodes, err := s.Store.AllNodes(ctx)
	if err != nil {
		return err
	}
	alive := aliveNodes(nodes, s.Node.ID)
	died := buried > 0
	for id := range s.alive {
		died = died || !alive[id]
	}
	s.alive = alive
	if died {
		_, err := s.recoverThreads(ctx)
		return ignoreError(errNoDBOS, err)
	}
	if time.Since(s.lastCleanup) >= cleanupEvery {
		s.lastCleanup = time.Now()
		s.keeper.addJob(s.keeper.cleanupTicks)
	}
	return s.startAbandoned(ctx)
}

// startAbandoned starts threads that are abandoned for the second time in a row.
func (s *sweeper) startAbandoned(ctx context.Context) error {
	threads, err := s.Store.Abandoned(ctx)
	if err != nil {
		return err
	}
	before := s.abandoned
	s.abandoned = make(map[ponder.ThreadID]bool)
	var still []ponder.ThreadID
	for _, thread := range threads {
		s.abandoned[thread] = true
		if before[thread] && s.isRetryDue(thread) {
			still = append(still, thread)
		}
	}
	if len(still) == 0 {
		return nil
	}
	queued, err := s.keeper.queuedSet(ctx)
	if ignoreError(errNoDBOS, err) != nil {
		return err
	}
	_, err = s.startAll(leftovers{queued: queued}.mergeThreads(still), nil)
	return err
}

// ignoreError returns err, or nil if err is ignored.
func ignoreError(ignored, err error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// Waits after a failure of a thread.
const (
	failWait    = 10 * time.Second // first wait
	maxFailWait = 10 * time.Minute
)

// isRetryDue reports whether the wait after the last failure is over. The wait doubles with each
// failure.
func (p *Placement) isRetryDue(thread ponder.ThreadID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.outcomes[thread]
	return last.fails == 0 || time.Since(last.at) >= min(failWait<<min(last.fails-1, 10), maxFailWait)
}
