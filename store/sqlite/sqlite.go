// Package sqlite keeps everything in one SQLite file, which several processes
// may have open at once.
//
// # How it writes
//
// One goroutine writes. It takes all that waits to be written and does it in one
// transaction, which from then on outlasts the process: what was waiting for that alone
// (see [ponder.OnRecord]) goes on. Another goroutine makes the write-ahead log durable while
// the writer writes on, and tells each caller. Leases and beats do not wait for the disk, for
// they are worth nothing after a power failure. Each thing checks before it writes, so that
// what is refused leaves no trace and does not disturb the others. What the writer knows of threads, of
// their calls in flight and of nodes it keeps in memory for as long as no other
// connection has committed. Events and requests are made into the bytes of their
// rows before that, by whoever appends, in memory that is used again.
// Another goroutine moves what was committed from the write-ahead log into the
// database, so that the writer seldom has to wait for that.
//
// # How it reads
//
// A few connections read beside it, in short transactions. Who watches is told
// of what this process appends at once, and of what others append by one
// goroutine that looks at PRAGMA data_version while anybody watches.
//
// # What is in the file
//
// The tables begin with ponder_, and migrations/ says what they mean. Other
// tables of the file belong to others, who share the writing connection: see
// [Store.DB].
//
// What an append costs is mostly pages, of which each is written to the log,
// synced and moved later: with pages of 4 KiB an append of 7 KB dirties about
// eight. So requests are in the row of their events, and what an intent says is
// read there, and of what only a holder may write no key is kept. Larger pages
// and a larger cache were tried, and cost more.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"ponder"
	"ponder/store/internal/watch"
	"ponder/store/sqldb"
)

// A Store is a [ponder.Store] in a SQLite file. Besides what that promises, a
// call whose ctx ends while it waits to be written is not done.
type Store struct {
	file      string
	opened    os.FileInfo // of file
	immutable bool        // nobody changes the file
	write     *sql.DB     // one connection; nil if the store is read-only
	read      *sql.DB
	known     sqldb.Statements // what is asked of read again and again
	hub       watch.Hub

	batches batches
	queue   chan *request
	written chan group    // to be made durable
	closing chan struct{} // closed to stop the writer
	stopped chan struct{} // closed when it has stopped, and the syncer
	once    sync.Once
	work    sync.WaitGroup

	grew    atomic.Int64  // how often this process has appended to a thread
	grown   chan struct{} // has something if there is something to backfill
	summing atomic.Bool   // usage is being summed up
	walFull atomic.Bool   // the writer is to make room in the log

	safety   sync.Mutex
	wal      walFile
	sync     func() error // that of wal
	durable  atomic.Int64 // what is up to there in ponder_batch is on the disk
	doubtful atomic.Bool  // the disk has failed
	damaged  atomic.Bool  // a write found that the database is

	poll poll
}

var _ ponder.Store = (*Store)(nil)

// Open opens the database in a file. If there is none, it makes one that only
// its user can read, and the folder too. An older database is migrated; for a
// newer one it returns ErrNewer, for one that cannot be written ErrReadOnly; one of another
// program is left as it is.
// Close the store when done.
func Open(ctx context.Context, file string) (*Store, error) {
	s, err := open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, explainOpen(err))
	}
	return s, nil
}

func open(ctx context.Context, file string) (*Store, error) {
	if err := makeFile(file); err != nil {
		return nil, err
	}
	if err := checkOwn(ctx, file); err != nil {
		return nil, err
	}
	s := newStore(file)
	s.write = connect(file, writing)
	s.write.SetMaxOpenConns(1)
	err := prepare(ctx, s.write)
	if err == nil {
		s.wal.name, err = walOf(ctx, s.write)
	}
	if err == nil {
		s.opened, err = os.Stat(file)
	}
	if err != nil {
		s.write.Close()
		return nil, err
	}
	s.read = connect(file, reading)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.work.Go(s.writer)
	s.work.Go(s.syncer)
	s.work.Go(func() { s.backfill(connect(file, "mode=rw&"+writing)) })
	return s, nil
}

// prepare makes sure that a database has our tables and can be written.
func prepare(ctx context.Context, db *sql.DB) error {
	all, err := scripts()
	if err != nil {
		return err
	}
	if err := migrate(ctx, db, all); err != nil {
		return err
	}
	return checkWritable(ctx, db)
}

func newStore(file string) *Store {
	s := &Store{
		file:    file,
		queue:   make(chan *request, queueSize),
		written: make(chan group, behind),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		grown:   make(chan struct{}, 1),
	}
	s.sync = s.wal.sync
	s.poll.store = s
	return s
}

// OpenReadOnly opens the database in a file to look things up, even where
// nothing can be written. Whatever writes returns ErrReadOnly. The file must be
// of this version.
func OpenReadOnly(ctx context.Context, file string) (*Store, error) {
	db, immutable, err := openReadOnly(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, explainOpen(err))
	}
	s := newStore(file)
	s.read, s.immutable = db, immutable
	close(s.stopped)
	return s, nil
}

// DB returns the connection that writes, for others who keep tables in the same
// file. While they use it, nothing else is written. They must not write to
// tables that begin with ponder_. What they commit outlasts the process at once, and a
// power failure with whatever is written next; [Store.SQL] waits for that. It is nil if
// the store is read-only.
func (s *Store) DB() *sql.DB { return s.write }

// Close writes what waits and closes the file. Whatever is called after that
// returns an error.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	s.work.Wait()
	s.poll.close()
	s.wal.forget()
	err := s.read.Close()
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	return err
}

var errClosed = errors.New("store is closed")

// Sizes.
const (
	readers   = 5    // connections that read, the one that polls included
	queueSize = 1024 // what may wait without a goroutine waiting to enqueue it
	behind    = 128  // transactions that may wait for the disk before the writer does
)
