package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// A group is what came of the requests of a transaction.
type group struct {
	outcomes []outcome
	pos      int64 // newest in ponder_batch
}

// An outcome is what came of a request.
type outcome struct {
	*request
	err error
}

// syncer makes durable what the writer has written, and tells those who wait for that,
// while the writer writes on. What has gathered meanwhile waits for the disk once.
func (s *Store) syncer() {
	defer close(s.stopped)
	for all := range s.written {
		for more := true; more; {
			select {
			case next, ok := <-s.written:
				if more = ok; ok {
					all = group{append(all.outcomes, next.outcomes...), next.pos}
				}
			default:
				more = false
			}
		}
		var failed error
		if slices.ContainsFunc(all.outcomes, func(o outcome) bool { return o.err == nil }) {
			failed = s.makeDurable(all.pos)
		}
		for _, o := range all.outcomes {
			o.done <- cmp.Or(o.err, failed)
		}
	}
}

// makeDurable returns when what was committed so far, up to pos at least, outlasts a power
// failure. If the disk fails, nothing more is written before all of it is in the database
// itself: after that, nobody knows what of the log is on the disk.
func (s *Store) makeDurable(pos int64) error {
	if err := s.sync(); err != nil {
		s.doubtful.Store(true)
		return ioError(0, fmt.Errorf("write-ahead log: %w", err))
	}
	for known := s.durable.Load(); known < pos && !s.durable.CompareAndSwap(known, pos); {
		known = s.durable.Load()
	}
	return nil
}

// show returns when what is in ponder_batch up to pos may be shown: nobody is shown what a
// power failure could undo, whichever process has written it.
func (s *Store) show(ctx context.Context, pos int64) error {
	if s.write == nil || pos <= s.durable.Load() {
		return nil
	}
	if err := s.known.First(ctx, s.read, []any{&pos}, newestPos); err != nil {
		return err
	}
	return s.makeDurable(pos)
}

// errDoubtful is of what is not written because the disk has failed before.
var errDoubtful = errors.New("the disk has failed: what was written before is not safe yet")

// A walFile is the write-ahead log of a database, as far as it is made durable here. SQLite
// has no locks on it, which closing a file would end.
type walFile struct {
	name string

	mu   sync.Mutex
	file *os.File // nil: to be opened
}

// sync waits for the disk.
func (w *walFile) sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		f, err := os.OpenFile(w.name, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // then nothing is in it
		}
		if err != nil {
			return err
		}
		w.file = f
	}
	return syncData(w.file)
}

// forget has the file opened again: it may be another one now.
func (w *walFile) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}
