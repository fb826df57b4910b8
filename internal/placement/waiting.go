package placement

import (
	"context"
	"fmt"
)

// QueueLength returns the number of threads with pending work that do not run here: queued threads and
// abandoned ones.
func (p *Placement) QueueLength(ctx context.Context) (int, error) {
	threads, err := p.Store.Abandoned(ctx)
	if err != nil {
		return 0, fmt.Errorf("count waiting threads: %w", err)
	}
	var left leftovers
	if p.keeper != nil {
		if left.threads, err = p.keeper.listQueued(ctx); err != nil {
			return 0, fmt.Errorf("count waiting threads: %w", err)
		}
	}
	n := 0
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, thread := range left.mergeThreads(threads) {
		if p.periods[thread] == nil {
			n++
		}
	}
	return n, nil
}
