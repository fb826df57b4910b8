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

// A group is what came of the requests of transactions that followed on each other.
type group struct {
	outcomes  []outcome
	from, pos int64 // newest in ponder_batch before, and after
}

// An outcome is what came of a request.
type outcome struct {
	*request
	err error
}

// lull is how long the disk is left alone if nobody is in a hurry. What the writer writes
// waits for the disk, too, while that is at work on the same page.
const lull = 2 * time.Millisecond

// syncer makes durable what the writer has written, and tells those who wait for that,
// while the writer writes on. What has gathered meanwhile waits for the disk once.
func (s *Store) syncer() {
	defer close(s.stopped)
	var began time.Time
	for all := range s.written {
		all = s.more(all, began.Add(lull))
		began = time.Now()
		var failed error
		if all.pos > s.durable.Load() || slices.ContainsFunc(all.outcomes, func(o outcome) bool { return o.err == nil }) {
			failed = s.makeDurable(all.pos)
		}
		if failed == nil { // else it is found by who looks for what others have written
			s.poll.committed(all.from, all.pos)
		}
		for _, o := range all.outcomes {
			o.done <- cmp.Or(failed, o.err) // it may be refused for what is not safe
		}
	}
}

// more adds to a group what else is written, until that time if nobody in it is in a hurry.
func (s *Store) more(all group, until time.Time) group {
	for {
		var due <-chan time.Time // nil: do not wait
		if left := time.Until(until); left > 0 && !all.hurries() {
			due = time.After(left)
		}
		next, ok := s.next(due)
		if !ok {
			return all
		}
		all = group{append(all.outcomes, next.outcomes...), all.from, next.pos}
	}
}

// next returns what is written next, if that comes before it is due.
func (s *Store) next(due <-chan time.Time) (g group, ok bool) {
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

// hurries reports whether anybody waits for the disk, and for nothing else.
func (g group) hurries() bool {
	return slices.ContainsFunc(g.outcomes, func(o outcome) bool { return o.err != nil || o.hurries() })
}

// makeDurable returns when what was committed so far, up to pos at least, outlasts a power
// failure. If the disk fails, nobody knows what of the log is on it, and the next attempt
// may not fail though it is not: all of the log is moved into the database then, before
// anything is said to be safe, or more is written.
func (s *Store) makeDurable(pos int64) error {
	s.safety.Lock()
	defer s.safety.Unlock()
	return s.secure(pos)
}

// secure is makeDurable for who holds s.safety.
func (s *Store) secure(pos int64) error {
	if !s.doubtful.Load() {
		err := s.sync()
		if err == nil {
			s.raise(pos)
			return nil
		}
		slog.Warn("the disk has failed; what was written is moved into the database", "error", err)
		s.doubtful.Store(true)
	}
	if err := s.rescue(); err != nil {
		return err
	}
	s.raise(pos)
	return nil
}

// raise notes that the disk has what is up to pos. The caller holds s.safety.
func (s *Store) raise(pos int64) { s.durable.Store(max(pos, s.durable.Load())) }

// rescue moves all that was committed into the database, and has the log begin anew: nothing
// is found behind a page of it that is not on the disk. The caller holds s.safety.
func (s *Store) rescue() error {
	db := connect(s.file, rescuing)
	defer db.Close()
	var busy, frames, moved int64
	if err := db.QueryRowContext(context.Background(), emptyWAL).Scan(&busy, &frames, &moved); err != nil {
		return explain(err)
	}
	if busy != 0 { // somebody reads what would be overwritten
		return errDoubtful
	}
	s.doubtful.Store(false)
	return nil
}

// safe returns an error if what is written now would be lost, or the disk has failed, and
// what was written before is not safe.
func (s *Store) safe() error {
	if err := s.Lost(); err != nil {
		return err
	}
	if !s.doubtful.Load() {
		return nil
	}
	s.safety.Lock()
	defer s.safety.Unlock()
	if !s.doubtful.Load() { // meanwhile
		return nil
	}
	return s.rescue()
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
	s.safety.Lock()
	defer s.safety.Unlock()
	if pos <= s.durable.Load() { // meanwhile
		return nil
	}
	return s.secure(pos)
}

// errDoubtful is of what is not safe, or not written, because the disk has failed before.
var errDoubtful = errors.New("disk error: what was written before is not safe yet")

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
