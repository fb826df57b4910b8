package placement

import (
	"context"
	"errors"
	"time"

	"ponder"
)

// How often a process that serves looks after others.
const (
	sweepEvery = ponder.BeatEvery
	tidyEvery  = time.Minute
)

// A sweeper looks after threads that nobody works on.
type sweeper struct {
	*Placement
	alive     map[ponder.NodeID]bool
	abandoned map[ponder.ThreadID]bool // at the last look
	tidied    time.Time
}

// sweep looks after others until the placement is closed.
func (p *Placement) sweep() {
	s := &sweeper{Placement: p, tidied: time.Now()}
	for sleep(p.ctx, sweepEvery) {
		if err := s.round(p.ctx); err != nil && p.ctx.Err() == nil {
			p.Logger.Warn("look for abandoned threads", "error", err)
		}
	}
}

// round starts what is abandoned: at once if a node has died since the last look,
// else what was abandoned then, too. So a thread that another process has just
// made, and is about to start, is left to that.
func (s *sweeper) round(ctx context.Context) error {
	buried, err := Bury(ctx, s.Store, s.Node)
	if err != nil {
		return err
	}
	nodes, err := s.Store.AllNodes(ctx)
	if err != nil {
		return err
	}
	alive := living(nodes, s.Node.ID)
	died := buried > 0
	for id := range s.alive {
		died = died || !alive[id]
	}
	s.alive = alive
	if died {
		_, err := s.recover(ctx)
		return unless(errNoDBOS, err)
	}
	if time.Since(s.tidied) >= tidyEvery {
		s.tidied = time.Now()
		s.keeper.do(s.keeper.tidy)
	}
	return s.again(ctx)
}

// again starts what is abandoned still.
func (s *sweeper) again(ctx context.Context) error {
	threads, err := s.Store.Abandoned(ctx)
	if err != nil {
		return err
	}
	before := s.abandoned
	s.abandoned = make(map[ponder.ThreadID]bool)
	var still []ponder.ThreadID
	for _, thread := range threads {
		s.abandoned[thread] = true
		if before[thread] && s.due(thread) {
			still = append(still, thread)
		}
	}
	if len(still) == 0 {
		return nil
	}
	queued, err := s.keeper.queued(ctx)
	if unless(errNoDBOS, err) != nil {
		return err
	}
	_, err = s.startAll(leftovers{queued: queued}.add(still), nil)
	return err
}

// unless returns err, but nil if it is what was said before.
func unless(said, err error) error {
	if errors.Is(err, said) {
		return nil
	}
	return err
}

// How long a thread whose work failed is left alone.
const (
	failWait    = 10 * time.Second // the first time
	maxFailWait = 10 * time.Minute
)

// due reports whether a thread may be tried: what failed is left alone, for longer
// each time.
func (p *Placement) due(thread ponder.ThreadID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.ends[thread]
	return last.fails == 0 || time.Since(last.at) >= min(failWait<<min(last.fails-1, 10), maxFailWait)
}
