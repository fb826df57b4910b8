package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"ponder"
)

// pollEvery is how often a process that watches looks for what others append.
const pollEvery = 50 * time.Millisecond

// A poll tells those who watch what other processes append.
type poll struct {
	store *Store

	mu     sync.Mutex
	told   int64         // pos up to which all has been hinted at
	looked time.Time     // when told was last found to be about the newest
	users  int           // calls of Watch that have not been stopped
	stop   chan struct{} // closed to stop the goroutine; nil if none runs
	closed bool
	done   sync.WaitGroup
}

// Watch implements [ponder.Log]. The removal of a thread is hinted at with a zero.
func (s *Store) Watch(id ponder.ThreadID) (heads <-chan ponder.Seq, stop func()) {
	heads, unwatch := s.hub.Watch(id)
	s.poll.begin()
	return heads, sync.OnceFunc(func() {
		unwatch()
		s.poll.end()
	})
}

// begin makes sure that the goroutine runs.
func (p *poll) begin() {
	pos, found := p.newest() // before p.mu is held, for which the syncer waits
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users++
	if p.users > 1 || p.closed {
		return
	}
	if found {
		p.told, p.looked = max(p.told, pos), time.Now()
	}
	p.start()
}

// newest finds the newest pos if that is to be known to begin. What is committed after that
// is hinted at, if need be twice.
func (p *poll) newest() (pos int64, found bool) {
	p.mu.Lock()
	known := p.users > 0 || p.closed || time.Since(p.looked) < freshFor
	p.mu.Unlock()
	if known {
		return 0, false
	}
	err := p.store.known.First(context.Background(), p.store.read, []any{&pos}, newestPos)
	return pos, err == nil
}

// freshFor is how long a poll that has ended may be gone on with where it was: others
// have not appended much since.
const freshFor = 10 * time.Second

// start starts the goroutine. The caller holds p.mu.
func (p *poll) start() {
	stop := make(chan struct{})
	p.stop = stop
	p.done.Go(func() { p.run(stop) })
}

// end stops the goroutine when nobody watches.
func (p *poll) end() {
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

// committed notes that this process appended what comes after from, up to pos,
// and hints at it itself.
func (p *poll) committed(from, pos int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told == from {
		p.told = pos
	}
}

// run looks until it is stopped, and first after a while: by then told was the newest.
func (p *poll) run(stop <-chan struct{}) {
	ctx := context.Background() // nothing here takes long: see [sqldb.Statements.Short]
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var conn *sql.Conn
	seen := int64(-1) // version of the data on conn
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
			version, err := p.look(ctx, conn, seen)
			seen = version
			if err != nil {
				conn.Close()
				conn, seen = nil, -1
			}
		}
	}
}

// grownSince finds threads by pos; by itself SQLite would read the index of all
// that there ever was.
const grownSince = `SELECT t.id, max(b.last), max(b.pos)
	FROM ponder_batch b NOT INDEXED CROSS JOIN ponder_thread t USING (num) WHERE b.pos > ? GROUP BY b.num`

// look hints at what others appended if the data has changed since a version.
func (p *poll) look(ctx context.Context, conn *sql.Conn, seen int64) (version int64, err error) {
	if err := conn.QueryRowContext(ctx, dataVersion).Scan(&version); err != nil || version == seen {
		return version, err
	}
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	rows, err := conn.QueryContext(ctx, grownSince, told)
	if err != nil {
		return version, err
	}
	defer rows.Close()
	newest := told
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
	p.told, p.looked = max(p.told, newest), time.Now()
	return version, nil
}
