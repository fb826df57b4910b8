package sqlite

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
)

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
			case next := <-s.written: // nothing, if it is closed
				all, more = append(all, next...), len(next) > 0
			default:
				more = false
			}
		}
		var failed error
		if slices.ContainsFunc(all, func(o outcome) bool { return o.err == nil }) {
			failed = s.makeDurable()
		}
		for _, o := range all {
			o.done <- cmp.Or(o.err, failed)
		}
	}
}

// makeDurable returns when what was committed so far outlasts a power failure. If the
// disk fails, nothing more is written before all of it is in the database itself: after
// that, nobody knows what of the log is on the disk.
func (s *Store) makeDurable() error {
	if err := s.sync(); err != nil {
		s.doubtful.Store(true)
		return ioError(0, fmt.Errorf("write-ahead log: %w", err))
	}
	return nil
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
