package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder"
)

// Recover implements [ponder.Placement]. It declares dead the nodes of this machine whose
// processes have ended. Then it starts the threads that the log shows as abandoned and those in
// rows of dead nodes, except threads in the queue. Failures of threads appear in [Placement.Wait].
func (p *Placement) Recover(ctx context.Context) (int, error) {
	n, err := p.recoverThreads(ctx)
	if err != nil {
		return n, fmt.Errorf("recover threads: %w", err)
	}
	return n, nil
}

func (p *Placement) recoverThreads(ctx context.Context) (int, error) {
	if _, err := MarkDeadNodes(ctx, p.Store, p.Node); err != nil {
		return 0, err
	}
	threads, err := p.Store.Abandoned(ctx)
	if err != nil {
		return 0, err
	}
	var left leftovers
	var failed error
	if p.keeper != nil {
		left, failed = p.listLeftovers(ctx)
	}
	n, err := p.startAll(left.mergeThreads(threads), left.ids)
	return n, errors.Join(err, failed)
}

// startAll starts the threads that do not run here and returns their number. Once they have rows,
// it erases the rows in others.
func (p *Placement) startAll(threads []ponder.ThreadID, others []string) (int, error) {
	var periods []*period
	for _, thread := range threads {
		p.mu.Lock()
		busy := p.periods[thread] != nil
		p.mu.Unlock()
		if busy {
			continue
		}
		pd, begun, err := p.startPeriod(thread)
		if err != nil {
			return len(periods), fmt.Errorf("start %s: %w", thread, err)
		}
		if begun {
			periods = append(periods, pd)
		}
	}
	if p.keeper != nil {
		time.AfterFunc(rowDelay, func() {
			for _, pd := range periods {
				p.keeper.addRow(pd)
			}
			p.keeper.discardRows(others)
		})
	}
	return len(periods), nil
}

// A leftovers holds the rows of dead nodes and the queued threads.
type leftovers struct {
	ids     []string          // rows of dead nodes
	threads []ponder.ThreadID // threads in those rows
	queued  map[ponder.ThreadID]bool
}

// mergeThreads returns the threads of more and of the rows, without queued ones and duplicates.
func (l leftovers) mergeThreads(more []ponder.ThreadID) (all []ponder.ThreadID) {
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

func (p *Placement) listLeftovers(ctx context.Context) (leftovers, error) {
	nodes, err := p.Store.AllNodes(ctx)
	if err != nil {
		return leftovers{}, err
	}
	return p.keeper.findLeftovers(ctx, aliveNodes(nodes, p.Node.ID))
}

// aliveNodes returns the nodes that are alive. The newest beat gives the store's time,
// because this node also beats.
func aliveNodes(nodes []ponder.Node, self ponder.NodeID) map[ponder.NodeID]bool {
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
