// Package sqlite stores everything in one SQLite file, which several processes may open at
// once.
//
// # Writing
//
// One goroutine writes. It performs all waiting requests in one transaction. A committed
// transaction survives the process, and releases callers that wait for that alone (see
// [ponder.OnRecord]). Another goroutine then syncs the write-ahead log (WAL) and replies to
// the other callers, while the writer continues. Leases and heartbeats do not wait for the
// disk, because a power failure ends them anyway.
//
// Each request checks before it writes, so that a refused request changes nothing and does
// not disturb the others. The writer caches threads, their calls in flight, and nodes,
// until another connection commits. The appending goroutine encodes events and requests
// into recycled memory. A third goroutine moves commits from the WAL into the database, so
// that the writer seldom waits for that.
//
// # Reading
//
// A few connections read concurrently, in short transactions. Watchers get hints of this
// process's appends at once. One goroutine polls PRAGMA data_version for the appends of
// other processes while there are watchers.
//
// # The file
//
// The tables of this package begin with ponder_; migrations/ documents them. Other tables
// belong to other packages, which share the writing connection: see [Store.DB].
//
// The cost of an append is mostly the number of changed pages: SQLite writes each to the
// WAL, syncs it, and moves it later. With pages of 4 KiB, an append of 7 KB changes about
// eight. Requests are therefore in the row of their events, and the start of a call is read
// from there. Events that only a holder may write have no key. Larger pages and a larger
// cache were slower.
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

// A Store is a [ponder.Store] in a SQLite file. If the ctx of a call ends while its request
// waits for the writer, the request is dropped.
type Store struct {
	file       string
	opened     os.FileInfo // of file
	immutable  bool        // the file does not change
	write      *sql.DB     // one connection; nil if the store is read-only
	read       *sql.DB
	statements sqldb.Statements // statements of read
	hub        watch.Hub

	batches batches
	queue   chan *request
	written chan group    // transactions to sync
	closing chan struct{} // closed to stop the writer
	stopped chan struct{} // closed when the writer and the syncer have stopped
	once    sync.Once
	work    sync.WaitGroup

	grew    atomic.Int64  // counts appends of this process
	grown   chan struct{} // signals the backfill
	summing atomic.Bool   // usage is being summed
	walFull atomic.Bool   // the writer must truncate the WAL

	safety     sync.Mutex
	wal        walFile
	sync       func() error // wal.sync; tests replace it
	rewrite    func() error // wal.rewrite; tests replace it
	durable    atomic.Int64 // rows up to this pos are on the disk
	syncFailed atomic.Bool  // the disk has failed, and the WAL is not rescued yet
	damaged    atomic.Bool  // a write found damage

	poll poll
}

var _ ponder.Store = (*Store)(nil)

// Open opens the database in a file. If the file does not exist, Open creates it and its
// folder, for the user alone. It migrates an older database. It returns ErrNewer for a
// newer one and ErrReadOnly for one that it cannot write. It returns an error for a
// database of another program, and does not change it. Callers must close the store.
func Open(ctx context.Context, file string) (*Store, error) {
	s, err := openWritable(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, explainOpen(err))
	}
	return s, nil
}

func openWritable(ctx context.Context, file string) (*Store, error) {
	if err := makeFile(file); err != nil {
		return nil, err
	}
	if err := checkOwn(ctx, file); err != nil {
		return nil, err
	}
	s := newStore(file)
	s.write = openPool(file, writeOptions)
	s.write.SetMaxOpenConns(1)
	err := prepareDatabase(ctx, s.write)
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
	s.read = openPool(file, readOptions)
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	s.work.Go(s.writeLoop)
	s.work.Go(s.syncLoop)
	s.work.Go(func() { s.backfillLoop(openPool(file, "mode=rw&"+writeOptions)) })
	return s, nil
}

// prepareDatabase migrates a database and checks that it is writable.
func prepareDatabase(ctx context.Context, db *sql.DB) error {
	all, err := readMigrations()
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
		written: make(chan group, maxUnsynced),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		grown:   make(chan struct{}, 1),
	}
	s.sync, s.rewrite = s.wal.sync, s.wal.rewrite
	s.poll.store = s
	return s
}

// OpenReadOnly opens a database for reading, even where nothing can be written. Methods
// that write return ErrReadOnly. The file must have the current schema version.
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

// DB returns the writing connection, for packages with their own tables in the same file.
// While they use it, the store waits. They must not write to tables that begin with
// ponder_. Their commits survive the process at once, and a power failure after the next
// sync; [Store.SQL] waits for a sync. DB returns nil if the store is read-only.
func (s *Store) DB() *sql.DB { return s.write }

// Close writes the waiting requests and closes the file. Later calls return an error.
func (s *Store) Close() error {
	s.once.Do(func() { close(s.closing) })
	s.work.Wait()
	s.poll.close()
	s.wal.closeFile()
	err := s.read.Close()
	if s.write != nil {
		err = errors.Join(err, s.write.Close())
	}
	return err
}

var errClosed = errors.New("store is closed")

const (
	readers     = 5    // reading connections, including the one that polls
	queueSize   = 1024 // requests that wait without blocking their sender
	maxUnsynced = 128  // transactions that wait for the disk before the writer does
)
