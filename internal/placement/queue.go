package placement

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ponder"
)

const (
	queueName = "threads"
	noQueue   = "none" // no such queue: an empty list would mean all queues
	pollEvery = 100 * time.Millisecond
)

// Enqueue requests that a serving process run the thread once fewer than PerOwner threads of its
// owner run. A smaller priority runs first, then the older request. The request survives this
// process. It survives a power failure once the store has written something later; before that
// only the position is lost, because [Placement.Recover] finds the work in the log. Without a
// serving process, the request waits for the next one.
func (p *Placement) Enqueue(ctx context.Context, thread ponder.ThreadID, owner string, priority uint) error {
	if p.keeper == nil {
		return p.Start(ctx, thread)
	}
	if err := p.keeper.enqueueThread(ctx, thread, owner, priority); err != nil {
		return fmt.Errorf("enqueue %s: %w", thread, err)
	}
	return nil
}

func (k *keeper) enqueueThread(ctx context.Context, thread ponder.ThreadID, owner string, priority uint) error {
	if owner == "" {
		return errors.New("the thread has no owner")
	}
	d, err := k.awaitDBOS(ctx)
	if err != nil {
		return err
	}
	_, err = dbos.Enqueue[int](d, queueName, periodName, string(thread),
		dbos.WithEnqueueWorkflowID(newID(thread)),
		dbos.WithEnqueuePriority(priority),
		dbos.WithEnqueueQueuePartitionKey(owner),
		dbos.WithEnqueueApplicationName(serveApp),
		dbos.WithEnqueueApplicationVersion(serveApp+logFormat))
	return err
}

// registerQueue creates or updates the queue.
func registerQueue(d dbos.Context, perOwner int) error {
	_, err := dbos.RegisterQueue(d, queueName,
		dbos.WithPriorityEnabled(),
		dbos.WithPartitionConcurrency(perOwner),
		dbos.WithQueueBasePollingInterval(pollEvery),
		dbos.WithQueueOnConflict(dbos.QueueConflictAlwaysUpdate))
	if err != nil {
		return fmt.Errorf("register queue %s: %w", queueName, err)
	}
	return nil
}

// queueNames returns the queues from which this process takes work.
func (k *keeper) queueNames() []string {
	if !k.place.Serve {
		return []string{noQueue}
	}
	return append(k.schedules.queueNames(), queueName)
}

func (k *keeper) queuedSet(ctx context.Context) (map[ponder.ThreadID]bool, error) {
	list, err := k.listQueued(ctx)
	if err != nil {
		return nil, err
	}
	queued := make(map[ponder.ThreadID]bool)
	for _, thread := range list {
		queued[thread] = true
	}
	return queued, nil
}

// listQueued returns the threads in queue order, possibly with duplicates.
func (k *keeper) listQueued(ctx context.Context) (threads []ponder.ThreadID, err error) {
	d, err := k.awaitDBOS(ctx)
	if err != nil {
		return nil, err
	}
	list, err := dbos.ListWorkflows(d, dbos.WithFilterApplicationName(serveApp), dbos.WithFilterStatus(dbos.WorkflowStatusEnqueued),
		dbos.WithFilterQueueName(queueName), dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	for _, w := range list {
		threads = append(threads, threadOf(w.ID))
	}
	return threads, nil
}

func threadOf(id string) ponder.ThreadID {
	return ponder.ThreadID(id[:max(strings.LastIndexByte(id, '@'), 0)])
}

// findLeftovers returns the rows of nodes that are not alive.
func (k *keeper) findLeftovers(ctx context.Context, alive map[ponder.NodeID]bool) (left leftovers, err error) {
	if left.queued, err = k.queuedSet(ctx); err != nil {
		return leftovers{}, err
	}
	list, err := dbos.ListWorkflows(k.dbos, dbos.WithFilterApplicationName(serveApp, soloApp), dbos.WithFilterStatus(dbos.WorkflowStatusPending),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return leftovers{}, fmt.Errorf("list rows of running threads: %w", err)
	}
	for _, w := range list {
		if alive[ponder.NodeID(w.ExecutorID)] {
			continue
		}
		left.ids = append(left.ids, w.ID)
		if w.Name == periodName {
			left.threads = append(left.threads, threadOf(w.ID))
		}
	}
	return left, nil
}

// discardRows erases rows of dead nodes after addRow has written the new rows.
func (k *keeper) discardRows(ids []string) {
	if len(ids) == 0 {
		return
	}
	k.addJob(func() {
		if err := dbos.DeleteWorkflows(k.dbos, ids); err != nil {
			k.place.Logger.Warn("cannot erase rows of dead processes", "error", err)
		}
	})
}
