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
	nowhere   = "none" // a queue there is not: to listen to none is to listen to all
	pollEvery = 100 * time.Millisecond
)

// Enqueue has a thread worked on by some process that serves, this one or another,
// as soon as fewer than PerOwner enqueued threads of its owner are at work: those
// with the smaller priority first, then those that were enqueued first. When Enqueue
// returns, that outlasts this process; a power failure it outlasts with whatever is
// written to the store next. What is lost is the turn: what there is to do stands in the
// log, where [Placement.Recover] finds it. If no process serves, the next one that does
// will take it.
func (p *Placement) Enqueue(ctx context.Context, thread ponder.ThreadID, owner string, priority uint) error {
	if p.keeper == nil {
		return p.Start(ctx, thread)
	}
	if err := p.keeper.enqueue(ctx, thread, owner, priority); err != nil {
		return fmt.Errorf("enqueue %s: %w", thread, err)
	}
	return nil
}

func (k *keeper) enqueue(ctx context.Context, thread ponder.ThreadID, owner string, priority uint) error {
	if owner == "" {
		return errors.New("the thread has no owner")
	}
	d, err := k.wait(ctx)
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

// registerQueue makes the queue, or changes it to what is wanted now.
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

// queues returns the queues that this process takes from.
func (k *keeper) queues() []string {
	if !k.place.Serve {
		return []string{nowhere}
	}
	return append(k.ticks.queues(), queueName)
}

// queued returns the threads that wait in the queue.
func (k *keeper) queued(ctx context.Context) (map[ponder.ThreadID]bool, error) {
	list, err := k.enqueued(ctx)
	if err != nil {
		return nil, err
	}
	queued := make(map[ponder.ThreadID]bool)
	for _, thread := range list {
		queued[thread] = true
	}
	return queued, nil
}

// enqueued returns them as they stand in the queue; one that was enqueued twice is there
// twice.
func (k *keeper) enqueued(ctx context.Context) (threads []ponder.ThreadID, err error) {
	d, err := k.wait(ctx)
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

// threadOf undoes newID.
func threadOf(id string) ponder.ThreadID {
	return ponder.ThreadID(id[:max(strings.LastIndexByte(id, '@'), 0)])
}

// leftovers returns the rows of nodes that are not alive.
func (k *keeper) leftovers(ctx context.Context, alive map[ponder.NodeID]bool) (left leftovers, err error) {
	if left.queued, err = k.queued(ctx); err != nil {
		return leftovers{}, err
	}
	list, err := dbos.ListWorkflows(k.dbos, dbos.WithFilterApplicationName(serveApp, soloApp), dbos.WithFilterStatus(dbos.WorkflowStatusPending),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
	if err != nil {
		return leftovers{}, fmt.Errorf("list what was at work: %w", err)
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

// discard erases rows of dead nodes, after the new rows of their threads are
// written.
func (k *keeper) discard(ids []string) {
	if len(ids) == 0 {
		return
	}
	k.do(func() {
		if err := dbos.DeleteWorkflows(k.dbos, ids); err != nil {
			k.place.Logger.Warn("rows of dead processes stay for now", "error", err)
		}
	})
}
