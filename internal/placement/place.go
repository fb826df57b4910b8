// Package placement decides where and when threads run: in this process, from the first request
// until no work is left.
//
// [Open] returns a durable placement, [Memory] one for tests. [CurrentNode] identifies this process.
// [IsProcessGone] reports whether another process has certainly ended.
//
// # Busy periods
//
// A [Placement] calls Work for each started thread, never twice at once for one thread. A period
// ends when Work returns. If the thread was started again meanwhile, the placement calls Work once
// more, so that no late request is lost. If Work lost its lease because the node was declared
// dead, the placement calls it again after the process has become a new node. [Placement.Wait]
// returns the outcome.
//
// # Durability
//
// The log is authoritative for the remaining work: see [ponder.Leases.Abandoned]. In addition,
// each period of more than a second has a row in the tables of DBOS, which records that a process
// requested the thread. A period is a DBOS workflow without steps. Its ID is the thread, "@" and a
// unique suffix; its executor is the node. The keeper writes the row in the background and erases
// it at the end. [Placement.Recover] also starts the threads in rows of dead nodes.
//
// DBOS also stores the queue of serving processes, see [Placement.Enqueue], and the schedules. It
// shares the store's write connection, one statement or transaction at a time. schema.sql creates
// its tables, which have no prefix, in one transaction.
//
// Serving processes are the DBOS application "ponder". Others are "ponder-solo", without queues or
// schedules, so that they take only work that they started.
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

// A Config configures a placement. Store, Node and Work are required; [Open] also requires DB.
type Config struct {
	Store ponder.Store

	// DB is the store's write connection. Close leaves it open.
	DB *sql.DB

	// Node identifies this process to the engine. See [CurrentNode].
	Node ponder.Node

	// Work runs a thread, as [engine.Engine.Work] does.
	Work func(context.Context, ponder.ThreadID) error

	// Logger defaults to slog.Default().
	Logger *slog.Logger

	// Serve makes the process work for others. It takes threads from the queue, runs schedules,
	// and looks for abandoned threads every few seconds. Other processes run only what they start.
	// They call [MarkDeadNodes] first if a killed process may hold the thread.
	Serve bool

	// Ended, if set, is called with each thread whose period ends.
	Ended func(ponder.ThreadID)

	// PerOwner limits the running threads from the queue per owner, over all processes. The
	// default is DefaultPerOwner.
	PerOwner int
}

// DefaultPerOwner is the default of [Config.PerOwner].
const DefaultPerOwner = 8

// A Placement runs threads in this process. It is safe for concurrent use.
type Placement struct {
	Config
	ctx  context.Context // cancelled when all work must stop
	stop context.CancelFunc

	mu       sync.Mutex
	closed   bool
	periods  map[ponder.ThreadID]*period
	outcomes map[ponder.ThreadID]outcome // failures of ended periods

	workers sync.WaitGroup
	keeper  *keeper // nil in memory
}

var _ ponder.Placement = (*Placement)(nil)

// Memory returns a placement without durability, for tests. Enqueue starts threads immediately. It
// works in a [testing/synctest] bubble.
func Memory(cfg Config) *Placement {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.PerOwner = cmp.Or(cfg.PerOwner, DefaultPerOwner)
	p := &Placement{Config: cfg, periods: make(map[ponder.ThreadID]*period), outcomes: make(map[ponder.ThreadID]outcome)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// Open returns a durable placement. Close it before the engine and the store. Open starts DBOS in
// the background. If DBOS fails, Open logs the error and threads still run, but Enqueue, Schedule
// and Recover return it. Open does not keep ctx.
func Open(ctx context.Context, cfg Config) (*Placement, error) {
	switch {
	case cfg.DB == nil:
		return nil, errors.New("open placement: config has no DB; check that the store is writable")
	case cfg.Store == nil || cfg.Work == nil || cfg.Node.ID == "":
		return nil, errors.New("open placement: config needs Store, Work and Node.ID")
	case ctx.Err() != nil:
		return nil, fmt.Errorf("open placement: %w", ctx.Err())
	}
	p := Memory(cfg)
	p.keeper = newKeeper(p)
	go p.keeper.run()
	if p.Serve {
		p.workers.Go(p.sweepLoop)
	}
	return p, nil
}

// Close stops all work and waits for it until ctx ends. Other processes may take the remaining
// work.
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
		return fmt.Errorf("close placement: wait for work to stop: %w", ctx.Err())
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
