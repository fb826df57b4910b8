package sqlite

import (
	"cmp"
	"context"
	"errors"
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

// makeDurable blocks until all commits, up to pos at least, survive a power failure. After
// a disk error the kernel may drop the unwritten pages and report success next time. It
// then moves the whole WAL into the database before it reports success or the writer
// continues.
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
		slog.Warn("disk sync failed; moving the log into the database", "error", err)
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

// rescueWAL moves all commits into the database and restarts the WAL, because a recovery stops
// at the first page that is not on the disk. The caller holds s.safety.
func (s *Store) rescueWAL() error {
	db := openPool(s.file, rescueOptions)
	defer db.Close()
	var busy, frames, moved int64
	if err := db.QueryRowContext(context.Background(), emptyWAL).Scan(&busy, &frames, &moved); err != nil {
		return explainError(err)
	}
	if busy != 0 { // a reader still uses pages of the WAL
		return errUnsynced
	}
	s.syncFailed.Store(false)
	return nil
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

// closeFile closes the file, because its name may refer to another file now.
func (w *walFile) closeFile() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
}
