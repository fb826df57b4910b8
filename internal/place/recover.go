package place

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
	if p.keeper == nil {
		return p.startAll(ctx, threads)
	}
	left, failed := p.leftovers(ctx)
	n, err := p.startAll(ctx, left.add(threads))
	if err == nil {
		p.keeper.discard(left.ids)
	}
	return n, errors.Join(err, failed)
}

// startAll starts threads and returns how many were not at work here already.
func (p *Placement) startAll(ctx context.Context, threads []ponder.ThreadID) (n int, err error) {
	for _, thread := range threads {
		p.mu.Lock()
		busy := p.periods[thread] != nil
		p.mu.Unlock()
		if busy {
			continue
		}
		if err := p.Start(ctx, thread); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
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
