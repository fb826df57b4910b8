package placement

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"ponder"
)

// A keeper maintains the DBOS rows of busy periods. It uses one goroutine, so that it competes
// with the store for the connection with one operation at a time.
type keeper struct {
	place   *Placement
	wake    chan struct{} // work is pending
	once    sync.Once
	closing chan struct{} // closed when no more periods start
	stopped chan struct{} // closed when the goroutine ends

	ready  chan struct{} // closed once DBOS has launched or failed
	dbos   dbos.Context  // nil after a failure; valid after ready
	failed error

	mu       sync.Mutex
	jobs     []func()
	rows     map[string]*row // by workflow ID
	finished []*row          // to erase

	schedules scheduleSet
}

// A row is the DBOS row of a workflow in this process.
type row struct {
	id     string
	period *period
	erased chan struct{} // closed once the row is gone
}

// Stored names of the workflows.
const (
	periodName = "period"
	tickName   = "tick"
)

func newKeeper(p *Placement) *keeper {
	return &keeper{
		place:     p,
		wake:      make(chan struct{}, 1),
		closing:   make(chan struct{}),
		stopped:   make(chan struct{}),
		ready:     make(chan struct{}),
		rows:      make(map[string]*row),
		schedules: scheduleSet{all: make(map[string]*schedule)},
	}
}

// run launches DBOS and executes jobs until the keeper is closed and all rows are erased.
func (k *keeper) run() {
	defer close(k.stopped)
	k.dbos, k.failed = k.launchDBOS()
	close(k.ready)
	if k.failed != nil {
		k.place.Logger.Warn("dbos did not start; only the log records which threads run", "error", k.failed)
	}
	closing := k.closing
	for {
		k.runJobs()
		if closing == nil && k.isIdle() {
			return
		}
		select {
		case <-k.wake:
		case <-closing:
			closing = nil
		}
	}
}

// isIdle reports whether no job and no row remain.
func (k *keeper) isIdle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.jobs) == 0 && len(k.rows) == 0
}

// runJobs executes the pending jobs and erasures.
func (k *keeper) runJobs() {
	for {
		k.mu.Lock()
		spent := k.finished
		k.finished = nil
		var job func()
		if len(k.jobs) > 0 {
			job, k.jobs = k.jobs[0], k.jobs[1:]
		}
		k.mu.Unlock()
		if len(spent) > 0 {
			k.eraseRows(spent)
		}
		if job != nil {
			job()
		}
		if job == nil && len(spent) == 0 {
			return
		}
	}
}

// addJob queues a job for the keeper's goroutine.
func (k *keeper) addJob(job func()) {
	k.mu.Lock()
	k.jobs = append(k.jobs, job)
	k.mu.Unlock()
	k.wakeUp()
}

func (k *keeper) wakeUp() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// addRow writes a row for a period unless the period ends first.
func (k *keeper) addRow(pd *period) {
	k.addJob(func() {
		if k.failed != nil || pd.hasEnded() {
			return
		}
		r := &row{id: newID(pd.thread), period: pd, erased: make(chan struct{})}
		k.trackRow(r)
		if _, err := dbos.RunWorkflow(k.dbos, k.periodWorkflow, string(pd.thread), dbos.WithWorkflowID(r.id)); err != nil {
			k.place.Logger.Warn("cannot store a row of a running thread; only the log records it", "thread", pd.thread, "error", err)
			k.untrackRow(r)
		}
	})
}

func newID(thread ponder.ThreadID) string { return string(thread) + "@" + ponder.NewID("")[1:] }

func (k *keeper) trackRow(r *row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows[r.id] = r
}

func (k *keeper) untrackRow(r *row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, r.id)
}

// periodWorkflow is the workflow of a period that runs here, or of one from the queue. It returns
// DBOS's conflict error, which records no outcome, because its row is erased. If the process ends
// first, the row stays for other processes.
func (k *keeper) periodWorkflow(ctx dbos.Context, thread string) (int, error) {
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return 0, fmt.Errorf("work on %s: %w", thread, err)
	}
	k.mu.Lock()
	r := k.rows[id]
	k.mu.Unlock()
	if r == nil {
		pd, begun, err := k.place.startPeriod(ponder.ThreadID(thread))
		if err != nil {
			return 0, dbos.ErrConflictingWorkflowID
		}
		r = &row{id: id, period: pd, erased: make(chan struct{})}
		if !begun {
			r.period = nil // the running period has its own row
		}
		k.trackRow(r)
	}
	if r.period != nil {
		<-r.period.over
	}
	k.mu.Lock()
	k.finished = append(k.finished, r)
	k.mu.Unlock()
	k.wakeUp()
	select {
	case <-r.erased:
	case <-k.stopped:
	}
	return 0, dbos.ErrConflictingWorkflowID
}

// eraseRetry is the wait after a failed erasure.
const eraseRetry = time.Second

// eraseRows deletes rows and retries until the keeper is closed. Rows that remain then belong to a
// dead node.
func (k *keeper) eraseRows(spent []*row) {
	ids := make([]string, len(spent))
	for i, r := range spent {
		ids[i] = r.id
	}
	err := dbos.DeleteWorkflows(k.dbos, ids)
	if err != nil {
		k.place.Logger.Warn("cannot erase rows of ended threads; trying again", "error", err)
		select {
		case <-k.closing:
		default:
			k.mu.Lock()
			k.finished = append(k.finished, spent...)
			k.mu.Unlock()
			sleepUntil(k.closing, eraseRetry)
			return
		}
	}
	k.mu.Lock()
	for _, r := range spent {
		delete(k.rows, r.id)
	}
	k.mu.Unlock()
	for _, r := range spent {
		close(r.erased)
	}
}

// sleepUntil waits for d or until done is closed.
func sleepUntil(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

// errNoDBOS reports that DBOS did not launch.
var errNoDBOS = errors.New("dbos did not start")

func (k *keeper) awaitDBOS(ctx context.Context) (dbos.Context, error) {
	select {
	case <-k.ready:
		if k.failed != nil {
			return nil, fmt.Errorf("%w: %w", errNoDBOS, k.failed)
		}
		return k.dbos, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close erases the rows and shuts DBOS down. No period may be active.
func (k *keeper) close(ctx context.Context) error {
	k.once.Do(func() { close(k.closing) })
	select {
	case <-k.stopped:
	case <-ctx.Done():
		return fmt.Errorf("erase rows of ended threads: %w", ctx.Err())
	}
	if k.dbos == nil {
		return nil
	}
	return dbos.Shutdown(k.dbos, shutdownTime)
}

// shutdownTime limits each step of the shutdown of DBOS.
const shutdownTime = 5 * time.Second
