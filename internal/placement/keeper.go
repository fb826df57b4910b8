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

// A keeper keeps the rows of busy periods in DBOS. It works in one goroutine, so
// that the log shares the connection with one thing at a time.
type keeper struct {
	place   *Placement
	bell    chan struct{} // there is something to do
	once    sync.Once
	closing chan struct{} // closed when no more periods begin
	stopped chan struct{} // closed when the goroutine has ended

	ready  chan struct{} // closed once DBOS is launched, or has failed
	dbos   dbos.Context  // nil if it has failed; to be read after that
	failed error

	mu    sync.Mutex
	jobs  []func()
	rows  map[string]*row // of workflows that run here, by id
	spent []*row          // to be erased

	ticks ticks
}

// A row is what DBOS has of a workflow that runs here.
type row struct {
	id     string
	period *period
	erased chan struct{} // closed when DBOS has it no more
}

// The workflows, as DBOS has them stored.
const (
	periodName = "period"
	tickName   = "tick"
)

func newKeeper(p *Placement) *keeper {
	return &keeper{
		place:   p,
		bell:    make(chan struct{}, 1),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		ready:   make(chan struct{}),
		rows:    make(map[string]*row),
		ticks:   ticks{all: make(map[string]*schedule)},
	}
}

// run launches DBOS and does what is to be done until it is closed, and the rows
// of all periods are erased.
func (k *keeper) run() {
	defer close(k.stopped)
	k.dbos, k.failed = k.launch()
	close(k.ready)
	if k.failed != nil {
		k.place.Logger.Warn("nothing but the log remembers which threads are at work", "error", k.failed)
	}
	closing := k.closing
	for {
		k.serve()
		if closing == nil && k.idle() {
			return
		}
		select {
		case <-k.bell:
		case <-closing:
			closing = nil
		}
	}
}

// idle reports whether nothing is left to do, and no row is left to be erased.
func (k *keeper) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.jobs) == 0 && len(k.rows) == 0
}

// serve does what there is to do.
func (k *keeper) serve() {
	for {
		k.mu.Lock()
		spent := k.spent
		k.spent = nil
		var job func()
		if len(k.jobs) > 0 {
			job, k.jobs = k.jobs[0], k.jobs[1:]
		}
		k.mu.Unlock()
		if len(spent) > 0 {
			k.erase(spent)
		}
		if job != nil {
			job()
		}
		if job == nil && len(spent) == 0 {
			return
		}
	}
}

// do has something done by the keeper's goroutine.
func (k *keeper) do(job func()) {
	k.mu.Lock()
	k.jobs = append(k.jobs, job)
	k.mu.Unlock()
	k.ring()
}

func (k *keeper) ring() {
	select {
	case k.bell <- struct{}{}:
	default:
	}
}

// insure has a row written for a period, unless it is over before.
func (k *keeper) insure(pd *period) {
	k.do(func() {
		if k.failed != nil || pd.ended() {
			return
		}
		r := &row{id: newID(pd.thread), period: pd, erased: make(chan struct{})}
		k.add(r)
		if _, err := dbos.RunWorkflow(k.dbos, k.busy, string(pd.thread), dbos.WithWorkflowID(r.id)); err != nil {
			k.place.Logger.Warn("nothing but the log remembers that a thread is at work", "thread", pd.thread, "error", err)
			k.remove(r)
		}
	})
}

// newID returns the id of a new workflow for a thread.
func newID(thread ponder.ThreadID) string { return string(thread) + "@" + ponder.NewID("")[1:] }

func (k *keeper) add(r *row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows[r.id] = r
}

func (k *keeper) remove(r *row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, r.id)
}

// busy is the workflow of a period: one that has begun here already, or one that
// was waiting in the queue. It ends with DBOS's conflict error, which means that
// there is no outcome to record: its row is gone. If the process is about to end,
// the row stays, for others to find.
func (k *keeper) busy(ctx dbos.Context, thread string) (int, error) {
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return 0, fmt.Errorf("work on %s: %w", thread, err)
	}
	k.mu.Lock()
	r := k.rows[id]
	k.mu.Unlock()
	if r == nil {
		pd, begun, err := k.place.begin(ponder.ThreadID(thread))
		if err != nil {
			return 0, dbos.ErrConflictingWorkflowID
		}
		r = &row{id: id, period: pd, erased: make(chan struct{})}
		if !begun {
			r.period = nil // its own row is enough
		}
		k.add(r)
	}
	if r.period != nil {
		<-r.period.over
	}
	k.mu.Lock()
	k.spent = append(k.spent, r)
	k.mu.Unlock()
	k.ring()
	select {
	case <-r.erased:
	case <-k.stopped:
	}
	return 0, dbos.ErrConflictingWorkflowID
}

// eraseAgain is how long the keeper waits before it tries once more.
const eraseAgain = time.Second

// erase erases rows. If that fails, it is tried again until the keeper is closed;
// what is left then is found to be of a dead node.
func (k *keeper) erase(spent []*row) {
	ids := make([]string, len(spent))
	for i, r := range spent {
		ids[i] = r.id
	}
	err := dbos.DeleteWorkflows(k.dbos, ids)
	if err != nil {
		k.place.Logger.Warn("rows of threads that were at work stay for now", "error", err)
		select {
		case <-k.closing:
		default:
			k.mu.Lock()
			k.spent = append(k.spent, spent...)
			k.mu.Unlock()
			sleepOr(k.closing, eraseAgain)
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

// sleepOr waits for a time, or until done is closed.
func sleepOr(done <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	}
}

// errNoDBOS says that DBOS could not be launched.
var errNoDBOS = errors.New("dbos is not at work")

// wait returns DBOS once it is launched.
func (k *keeper) wait(ctx context.Context) (dbos.Context, error) {
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

// close erases the rows and shuts DBOS down. No period may be at work.
func (k *keeper) close(ctx context.Context) error {
	k.once.Do(func() { close(k.closing) })
	select {
	case <-k.stopped:
	case <-ctx.Done():
		return fmt.Errorf("rows of threads that were at work stay: %w", ctx.Err())
	}
	if k.dbos == nil {
		return nil
	}
	return dbos.Shutdown(k.dbos, shutdownTime)
}

// shutdownTime bounds each step of shutting DBOS down.
const shutdownTime = 5 * time.Second
