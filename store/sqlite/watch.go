package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"ponder"
)

// pollEvery is the interval in which a watching process looks for the appends of others.
const pollEvery = 50 * time.Millisecond

// A poll sends hints of the appends of other processes.
type poll struct {
	store *Store

	mu       sync.Mutex
	hinted   int64         // all rows up to this pos were hinted
	hintedAt time.Time     // the last time when hinted was the newest pos
	users    int           // open calls of Watch
	stop     chan struct{} // stops the goroutine; nil if none runs
	closed   bool
	done     sync.WaitGroup
}

// Watch implements [ponder.Log]. The removal of a thread sends a zero.
func (s *Store) Watch(id ponder.ThreadID) (heads <-chan ponder.Seq, stop func()) {
	heads, unwatch := s.hub.Watch(id)
	s.poll.addWatcher()
	return heads, sync.OnceFunc(func() {
		unwatch()
		s.poll.removeWatcher()
	})
}

// addWatcher starts the goroutine for the first watcher.
func (p *poll) addWatcher() {
	pos, found := p.startPos() // without p.mu, which the syncer needs
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	if p.users > 1 || p.closed {
		return
	}
	if found {
		p.hinted, p.hintedAt = max(p.hinted, pos), time.Now()
	}
	p.startPolling()
}

// startPos returns the newest pos if the poll needs it to start. Later commits are hinted,
// possibly twice.
func (p *poll) startPos() (pos int64, found bool) {
	p.mu.Lock()
	known := p.users > 0 || p.closed || time.Since(p.hintedAt) < hintLifetime
	p.mu.Unlock()
	if known {
		return 0, false
	}
	err := p.store.statements.First(context.Background(), p.store.read, []any{&pos}, newestPos)
	return pos, err == nil
}

// hintLifetime is how long a stopped poll may restart from its old position, because few
// appends have followed.
const hintLifetime = 10 * time.Second

// startPolling starts the goroutine. The caller holds p.mu.
func (p *poll) startPolling() {
	stop := make(chan struct{})
	p.stop = stop
	p.done.Go(func() { p.pollLoop(stop) })
}

// removeWatcher stops the goroutine after the last watcher.
func (p *poll) removeWatcher() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 && p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

// close stops the goroutine for good.
func (p *poll) close() {
	p.mu.Lock()
	p.closed = true
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.mu.Unlock()
	p.done.Wait()
}

// noteCommitted notes that this process appended the rows after from up to pos, and sends the
// hints itself.
func (p *poll) noteCommitted(from, pos int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hinted == from {
		p.hinted = pos
	}
}

// pollLoop polls until stop is closed, first after an interval.
func (p *poll) pollLoop(stop <-chan struct{}) {
	ctx := context.Background() // the queries are short: see [sqldb.Statements.QueryShort]
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var conn *sql.Conn
	seen := int64(-1) // data version on conn
	for {
		select {
		case <-stop:
			if conn != nil {
				conn.Close()
			}
			return
		case <-tick.C:
		}
		if conn == nil {
			conn, _ = p.store.read.Conn(ctx)
		}
		if conn != nil {
			version, err := p.hintGrowth(ctx, conn, seen)
			seen = version
			if err != nil {
				conn.Close()
				conn, seen = nil, -1
			}
		}
	}
}

// grownSince selects grown threads by pos. Without the hints to the planner, SQLite would
// read the index of all rows.
const grownSince = `SELECT t.id, max(b.last), max(b.pos)
	FROM ponder_batch b NOT INDEXED CROSS JOIN ponder_thread t USING (num) WHERE b.pos > ? GROUP BY b.num`

// hintGrowth sends hints of the appends of others if the data version differs from seen.
func (p *poll) hintGrowth(ctx context.Context, conn *sql.Conn, seen int64) (version int64, err error) {
	if err := conn.QueryRowContext(ctx, dataVersion).Scan(&version); err != nil || version == seen {
		return version, err
	}
	p.mu.Lock()
	hinted := p.hinted
	p.mu.Unlock()
	rows, err := conn.QueryContext(ctx, grownSince, hinted)
	if err != nil {
		return version, err
	}
	defer rows.Close()
	newest := hinted
	for rows.Next() {
		var id ponder.ThreadID
		var head ponder.Seq
		var pos int64
		if err := rows.Scan(&id, &head, &pos); err != nil {
			return version, err
		}
		p.store.hub.Hint(id, head)
		newest = max(newest, pos)
	}
	if err := rows.Err(); err != nil {
		return version, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hinted, p.hintedAt = max(p.hinted, newest), time.Now()
	return version, nil
}
