// Package placement decides where and when threads are worked on: in this process,
// from the moment somebody starts them, until there is nothing left to do.
//
// [Open] returns a placement that lasts, [Memory] one for tests. [Self] says who
// this process is, and [Gone] whether another one certainly is not any more.
//
// # Busy periods
//
// A [Placement] calls Work for a thread that is started, and never twice at once
// for one thread. Such a busy period ends when Work returns; if the thread was
// started once more meanwhile, Work is called once more, so that nothing that
// came at the last moment is forgotten. If Work lost its lease because the
// process was given up for dead, it is called again once the process has become
// a new node. How a period ended, [Placement.Wait] says.
//
// # What lasts
//
// The log is the truth about what is left to do: [ponder.Leases.Abandoned]. Beside
// it, each busy period that is not over in a second has a row in the tables of DBOS,
// which says that somebody wanted the thread to be worked on, whatever the log
// shows. A period is a DBOS workflow without steps: its id is the thread, "@" and
// something unique; its executor is the node. The row is written beside the work, so
// that nothing waits for it, and erased when the period is over. [Placement.Recover]
// starts what rows of dead nodes ask for, too.
//
// DBOS also keeps the queue of threads that processes which serve take, see
// [Placement.Enqueue], and the schedules. It uses the connection that the store
// writes with, one statement or transaction at a time: the store waits for one of
// those at most. Its tables have no prefix; schema.sql has them all, so that they
// are made in one transaction, which DBOS does not do.
//
// Processes that serve are the application "ponder" to DBOS. The others are
// "ponder-solo", which has no queues and no schedules, so that they take nothing
// that they were not told to start.
package placement

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"ponder"
)

// A Config says what a placement is made of. Store, Node and Work are required,
// and DB is by [Open].
type Config struct {
	Store ponder.Store

	// DB is the connection that the store writes with. It stays open.
	DB *sql.DB

	// Node is who the mind says that this process is. See [Self].
	Node ponder.Node

	// Work works on a thread, as [engine.Engine.Work] does.
	Work func(context.Context, ponder.ThreadID) error

	// Logger is slog.Default() if nil.
	Logger *slog.Logger

	// Serve says that the process works for others: it takes threads from the
	// queue, calls schedules, and looks every few seconds for threads that nobody
	// works on. A process that does not serve works only on what it starts; if
	// that may have been held by a process that was killed, it calls [Bury] first.
	Serve bool

	// Ended, if set, is told of each thread on which no work is done any more.
	Ended func(ponder.ThreadID)

	// PerOwner is how many threads of one owner are taken from the queue at
	// once, in all processes together; DefaultPerOwner if 0.
	PerOwner int
}

// DefaultPerOwner is how many enqueued threads of one owner are at work at once.
const DefaultPerOwner = 8

// A Placement works on threads in this process. It is safe for concurrent use.
type Placement struct {
	Config
	ctx  context.Context // done when all work must stop
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	periods map[ponder.ThreadID]*period
	ends    map[ponder.ThreadID]end // of periods that ended in an error

	workers sync.WaitGroup
	keeper  *keeper // nil in memory
}

var _ ponder.Placement = (*Placement)(nil)

// Memory returns a placement without anything that lasts, for tests. Whatever is
// enqueued is started. It can be used in a [testing/synctest] bubble.
func Memory(cfg Config) *Placement {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.PerOwner = cmp.Or(cfg.PerOwner, DefaultPerOwner)
	p := &Placement{Config: cfg, periods: make(map[ponder.ThreadID]*period), ends: make(map[ponder.ThreadID]end)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Open returns a placement that lasts. Close it before the mind and the store.
// What DBOS needs is done in the background: if it fails, that is logged, threads
// are worked on all the same, and Enqueue, Schedule and Recover return the error.
// The context is not used after Open has returned.
func Open(ctx context.Context, cfg Config) (*Placement, error) {
	switch {
	case cfg.DB == nil:
		return nil, errors.New("open placement: config needs DB: is the store read-only?")
	case cfg.Store == nil || cfg.Work == nil || cfg.Node.ID == "":
		return nil, errors.New("open placement: config needs Store, Work and the ID of the node")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("open placement: %w", ctx.Err())
	}
	p := Memory(cfg)
	p.keeper = newKeeper(p)
	go p.keeper.run()
	if p.Serve {
		p.workers.Go(p.sweep)
	}
	return p, nil
}

// Close stops all work and waits for it to stop, but no longer than ctx lasts.
// What is left to do is abandoned then, and others may take it.
func (p *Placement) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	stopped := make(chan struct{})
	go func() {
		p.workers.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		return fmt.Errorf("close placement: work does not stop: %w", ctx.Err())
	}
	if p.keeper == nil {
		return nil
	}
	if err := p.keeper.close(ctx); err != nil {
		return fmt.Errorf("close placement: %w", err)
	}
	return nil
}

var errClosed = errors.New("placement is closed")
