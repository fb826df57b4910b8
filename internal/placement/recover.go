package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder"
)

// Recover implements [ponder.Placement]. It gives up the nodes of this machine
// whose processes have ended, and starts the threads that the log shows to be
// abandoned and those that dead nodes were asked to work on; those in the queue
// wait for their turn. What fails in a thread is not its error, see
// [Placement.Wait].
func (p *Placement) Recover(ctx context.Context) (int, error) {
	n, err := p.recover(ctx)
	if err != nil {
		return n, fmt.Errorf("recover threads: %w", err)
	}
	return n, nil
}

func (p *Placement) recover(ctx context.Context) (int, error) {
	if _, err := Bury(ctx, p.Store, p.Node); err != nil {
		return 0, err
	}
	threads, err := p.Store.Abandoned(ctx)
	if err != nil {
		return 0, err
	}
	var left leftovers
	var failed error
	if p.keeper != nil {
		left, failed = p.leftovers(ctx)
	}
	n, err := p.startAll(left.add(threads), left.ids)
	return n, errors.Join(err, failed)
}

// startAll starts threads and returns how many were not at work here already. When
// they have rows, others are erased.
func (p *Placement) startAll(threads []ponder.ThreadID, others []string) (int, error) {
	var periods []*period
	for _, thread := range threads {
		p.mu.Lock()
		busy := p.periods[thread] != nil
		p.mu.Unlock()
		if busy {
			continue
		}
		pd, begun, err := p.begin(thread)
		if err != nil {
			return len(periods), fmt.Errorf("start %s: %w", thread, err)
		}
		if begun {
			periods = append(periods, pd)
		}
	}
	if p.keeper != nil {
		time.AfterFunc(insureAfter, func() {
			for _, pd := range periods {
				p.keeper.insure(pd)
			}
			p.keeper.discard(others)
		})
	}
	return len(periods), nil
}

// leftovers are the rows of nodes that are not alive, and the threads in the queue.
type leftovers struct {
	ids     []string          // of rows of dead nodes
	threads []ponder.ThreadID // that they ask for
	queued  map[ponder.ThreadID]bool
}

// add returns the threads to start: those that rows ask for and more, without
// those that have their turn later.
func (l leftovers) add(more []ponder.ThreadID) (all []ponder.ThreadID) {
	seen := make(map[ponder.ThreadID]bool)
	for _, threads := range [...][]ponder.ThreadID{more, l.threads} {
		for _, thread := range threads {
			if !l.queued[thread] && !seen[thread] {
				all = append(all, thread)
			}
			seen[thread] = true
		}
	}
	return all
}

// leftovers reads what DBOS has.
func (p *Placement) leftovers(ctx context.Context) (leftovers, error) {
	nodes, err := p.Store.AllNodes(ctx)
	if err != nil {
		return leftovers{}, err
	}
	return p.keeper.leftovers(ctx, living(nodes, p.Node.ID))
}

// living returns the nodes that are alive. The clock of the store is not known, but
// the newest beat is about as old as this node's.
func living(nodes []ponder.Node, self ponder.NodeID) map[ponder.NodeID]bool {
	var now time.Time
	for _, n := range nodes {
		if n.Beat.After(now) {
			now = n.Beat
		}
	}
	alive := map[ponder.NodeID]bool{self: true}
	for _, n := range nodes {
		if now.Sub(n.Beat) < ponder.DeadAfter {
			alive[n.ID] = true
		}
	}
	return alive
}
