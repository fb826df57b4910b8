package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// A group holds the outcomes of consecutive transactions.
type group struct {
	outcomes  []outcome
	from, pos int64 // the newest pos before and after them
}

type outcome struct {
	*request
	err error
}

// syncDelay is the wait between syncs if no caller waits for the disk. During a sync, a write to
// the same page must wait.
const syncDelay = 2 * time.Millisecond

// syncLoop makes the writer's transactions durable and replies to their callers, while the
// writer continues. Transactions that arrive during a sync share the next one.
func (s *Store) syncLoop() {
	defer close(s.stopped)
	var began time.Time
	for all := range s.written {
		all = s.gatherGroup(all, began.Add(syncDelay))
		began = time.Now()
		var failed error
		if all.pos > s.durable.Load() || slices.ContainsFunc(all.outcomes, func(o outcome) bool { return o.err == nil }) {
			failed = s.makeDurable(all.pos)
		}
		if failed == nil { // after a failure, the poll of other writers finds the events
			s.poll.noteCommitted(all.from, all.pos)
		}
		for _, o := range all.outcomes {
			o.done <- cmp.Or(failed, o.err) // a refusal may rest on events that are not safe
		}
	}
}

// gatherGroup adds further transactions to a group, until a time or until one is urgent.
func (s *Store) gatherGroup(all group, until time.Time) group {
	for {
		var due <-chan time.Time // nil: do not wait
		if left := time.Until(until); left > 0 && !all.isUrgent() {
			due = time.After(left)
		}
		next, ok := s.nextGroup(due)
		if !ok {
			return all
		}
		all = group{append(all.outcomes, next.outcomes...), all.from, next.pos}
	}
}

// nextGroup returns the next transaction, unless the timer fires first. A nil timer does not
// wait.
func (s *Store) nextGroup(due <-chan time.Time) (g group, ok bool) {
	if due == nil {
		select {
		case g, ok = <-s.written:
		default:
		}
		return g, ok
	}
	select {
	case g, ok = <-s.written:
	case <-due:
	}
	return g, ok
}

// isUrgent reports whether a caller waits for the disk.
func (g group) isUrgent() bool {
	return slices.ContainsFunc(g.outcomes, func(o outcome) bool { return o.err != nil || o.isUrgent() })
}

// makeDurable blocks until all commits, up to pos at least, survive a power failure. After a disk
// error the kernel may take unwritten pages for written and report success next time. It then
// writes the whole WAL again before it reports success or the writer continues.
func (s *Store) makeDurable(pos int64) error {
	s.safety.Lock()
	defer s.safety.Unlock()
	return s.syncOrRescue(pos)
}

// syncOrRescue implements makeDurable. The caller holds s.safety.
func (s *Store) syncOrRescue(pos int64) error {
	if !s.syncFailed.Load() {
		err := s.sync()
		if err == nil {
			s.markDurable(pos)
			return nil
		}
		slog.Warn("disk sync failed; writing the log again", "error", err)
		s.syncFailed.Store(true)
	}
	if err := s.rescueWAL(); err != nil {
		return err
	}
	s.markDurable(pos)
	return nil
}

// markDurable notes that the disk has all rows up to pos. The caller holds s.safety.
func (s *Store) markDurable(pos int64) { s.durable.Store(max(pos, s.durable.Load())) }

// rescueWAL writes the WAL again and syncs it. The disk may lack any part of a WAL whose sync
// failed. A recovery stops there, also if a checkpoint has moved later pages into the database,
// which would then be a mixture of versions. The write lock keeps other processes from restarting
// the WAL meanwhile. The caller holds s.safety.
func (s *Store) rescueWAL() error {
	db := openPool(s.file, rescueOptions)
	defer db.Close()
	tx, err := db.BeginTx(context.Background(), nil)
	if isBusy(err) {
		return errUnsynced
	}
	if err != nil {
		return explainError(err)
	}
	defer tx.Rollback()
	if err := s.rewrite(); err != nil {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	s.syncFailed.Store(false)
	return nil
}

// isIntact reports whether the disk has the WAL, also if the system reported a failed sync to
// another connection. Only then a checkpoint is safe: see rescueWAL.
func (s *Store) isIntact() bool {
	s.safety.Lock()
	defer s.safety.Unlock()
	if s.wal.sync() != nil {
		s.syncFailed.Store(true)
	}
	return !s.syncFailed.Load() || s.rescueWAL() == nil
}

// checkSafe returns an error if the file is lost, or if an earlier disk error is not repaired.
func (s *Store) checkSafe() error {
	if err := s.Lost(); err != nil {
		return err
	}
	if !s.syncFailed.Load() {
		return nil
	}
	s.safety.Lock()
	defer s.safety.Unlock()
	if !s.syncFailed.Load() { // another goroutine repaired it
		return nil
	}
	return s.rescueWAL()
}

// waitDurable blocks until the rows up to pos are durable. Readers must not see events that a
// power failure could undo, whichever process wrote them.
func (s *Store) waitDurable(ctx context.Context, pos int64) error {
	if s.write == nil || pos <= s.durable.Load() {
		return nil
	}
	if err := s.statements.First(ctx, s.read, []any{&pos}, newestPos); err != nil {
		return err
	}
	s.safety.Lock()
	defer s.safety.Unlock()
	if pos <= s.durable.Load() { // another goroutine made them durable
		return nil
	}
	return s.syncOrRescue(pos)
}

// errUnsynced reports that earlier writes may not be on the disk.
var errUnsynced = errors.New("disk error: earlier writes may not be on the disk")

// A walFile opens and syncs the write-ahead log. SQLite has no locks on this file, which
// closing it would release.
type walFile struct {
	name string

	mu   sync.Mutex
	file *os.File // nil until opened
}

// sync blocks until the disk has the file.
func (w *walFile) sync() error { return w.use(syncData) }

// rewrite writes the content of the file again and syncs it.
func (w *walFile) rewrite() error {
	return w.use(func(f *os.File) error {
		buffer := make([]byte, 1<<20)
		for at := int64(0); ; {
			n, err := f.ReadAt(buffer, at)
			if n == 0 && errors.Is(err, io.EOF) {
				return syncData(f)
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if _, err := f.WriteAt(buffer[:n], at); err != nil {
				return err
			}
			at += int64(n)
		}
	})
}

// use calls do with the open file.
func (w *walFile) use(do func(*os.File) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		f, err := os.OpenFile(w.name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		w.file = f
	}
	return do(w.file)
}

// closeFile closes the file, because its name may refer to another file now.
func (w *walFile) closeFile() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}
