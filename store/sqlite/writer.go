package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"ponder"
)

// A request is something to write.
type request struct {
	// do writes it. It returns an error only if it is refused; then it has
	// written nothing. Errors of the database stay in tx.
	do    func(tx *tx) error
	bytes int // about how much it writes

	// passing says that it need not outlast a power failure: after one, nobody
	// holds anything. Whoever asks does not wait for the disk, and what is
	// written later is never there without it.
	passing bool

	recorded func() // called once it outlasts the process, see [ponder.OnRecord]; or nil

	// calls says that models are asked once it is recorded, and nothing else is done or
	// shown: the disk need not hurry.
	calls bool

	// patient says that it may be written with what comes next, for a while.
	patient bool

	state atomic.Int32
	done  chan error // gets the outcome; has room for it
}

// The states of a request.
const (
	waiting int32 = iota
	begun         // it will be told how it ended
	dropped       // nobody waits for it any more: it is not done
)

// maxSize is how many bytes may be written at once.
const maxSize = 256 << 20

func (r *request) begin() bool   { return r.state.CompareAndSwap(waiting, begun) }
func (r *request) hurries() bool { return !r.calls || r.recorded == nil }
func (r *request) drop() bool    { return r.state.CompareAndSwap(waiting, dropped) }

// submit has something written and returns when it is durable. If ctx ends
// before it is begun, it is not done.
func (s *Store) submit(ctx context.Context, bytes int, do func(*tx) error) error {
	return s.send(ctx, &request{do: do, bytes: bytes})
}

// pass is submit for what is passing: it returns when others see it.
func (s *Store) pass(ctx context.Context, do func(*tx) error) error {
	return s.send(ctx, &request{do: do, passing: true})
}

func (s *Store) send(ctx context.Context, r *request) error {
	if s.write == nil {
		return ponder.ErrReadOnly
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.bytes > maxSize {
		return fmt.Errorf("%w: %d bytes", ponder.ErrTooBig, r.bytes)
	}
	r.done, r.recorded = make(chan error, 1), ponder.Recorded(ctx)
	select {
	case s.queue <- r:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.stopped:
		return errClosed
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		if r.drop() {
			return ctx.Err()
		}
	case <-s.stopped:
		if r.drop() {
			return errClosed
		}
	}
	return <-r.done
}

// writer writes what is submitted until the store is closed. Then it writes
// what waits already.
func (s *Store) writer() {
	defer close(s.written)
	w := &writer{store: s}
	defer w.forget()
	for {
		select {
		case r := <-s.queue:
			w.accept(r)
			continue
		default:
		}
		select {
		case r := <-s.queue:
			w.accept(r)
		case <-w.due:
			w.serve()
		case <-s.closing:
			w.serve()
			return
		}
	}
}

// patience is how long what is patient waits for what it can be written with.
const patience = 5 * time.Millisecond

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// A writer is what the one goroutine that writes has.
type writer struct {
	store   *Store
	pending []*request       // not begun
	due     <-chan time.Time // when what is patient has waited long enough; nil if nothing waits
	alone   []*request       // to be tried alone, after a transaction of theirs failed
	batch   []*request       // begun
	tx
}

// Bounds of a transaction, so that none waits for too many others.
const (
	maxBatch = 512
	maxBytes = 8 << 20
)

// accept has r written, at once unless it is patient.
func (w *writer) accept(r *request) {
	w.pending = append(w.pending, r)
	if !r.patient {
		w.serve()
	} else if w.due == nil {
		w.due = time.After(patience)
	}
}

// serve writes what is pending and whatever waits by the time that it can be written.
func (w *writer) serve() {
	w.due = nil
	for len(w.pending)+len(w.alone) > 0 {
		w.useConn()
	}
}

// useConn has a transaction on the connection, which others may be using.
func (w *writer) useConn() {
	ctx := context.Background()
	conn, err := w.store.write.Conn(ctx)
	if err != nil {
		w.failAll(err)
		return
	}
	defer conn.Close()
	if err := conn.Raw(func(c any) error { return w.use(c.(driver.Conn)) }); err != nil {
		w.failAll(err)
	}
}

// use has a transaction on a connection. It returns an error if it could not
// begin one, and nothing of what is pending was begun.
func (w *writer) use(conn driver.Conn) error {
	if w.conn != conn {
		w.reset(conn)
		w.exec(unsynced)
		w.store.wal.forget()
	}
	w.err = nil
	if w.store.walFull.CompareAndSwap(true, false) {
		w.exec(moveWAL)
		w.err = nil // at the next time, then
	}
	if err := w.store.safe(); err != nil {
		return err
	}
	w.exec(begin)
	if isBusy(w.err) && !w.store.isClosing() {
		w.pending, w.alone = prune(w.pending), prune(w.alone)
		return nil // to try again
	}
	if w.err != nil {
		return w.err
	}
	w.refresh()
	w.gather()
	w.run()
	return nil
}

// prune returns the requests that somebody waits for.
func prune(requests []*request) []*request {
	return slices.DeleteFunc(requests, func(r *request) bool { return r.state.Load() == dropped })
}

// gather begins what is pending, and what else waits as far as it fits.
func (w *writer) gather() {
	w.batch = nil
	bytes := 0
	take := func(r *request) {
		if r.begin() {
			w.batch = append(w.batch, r)
			bytes += r.bytes
		}
	}
	if len(w.alone) > 0 {
		take(w.alone[0])
		w.alone = w.alone[1:]
		return
	}
	for _, r := range w.pending {
		take(r)
	}
	w.pending = w.pending[:0]
	for len(w.batch) < maxBatch && bytes < maxBytes {
		select {
		case r := <-w.store.queue:
			take(r)
		default:
			return
		}
	}
}

// run does the batch in the transaction and ends that; the syncer tells who waits. If the
// transaction fails, each is tried alone, so that one that is too much fails alone.
func (w *writer) run() {
	outcomes := make([]error, len(w.batch))
	for i, r := range w.batch {
		if w.err == nil {
			outcomes[i] = r.do(&w.tx)
		}
	}
	w.exec(commit)
	if w.err != nil {
		w.abort()
		return
	}
	w.leave()
	if w.pos != w.from {
		w.store.grew.Add(1)
	}
	var lasting []outcome
	for i, r := range w.batch {
		if r.passing {
			r.done <- outcomes[i]
		} else {
			lasting = append(lasting, outcome{r, outcomes[i]})
		}
	}
	if len(lasting) > 0 {
		w.store.written <- group{lasting, w.from, w.pos}
	}
	w.store.noteGrowth()
	for _, o := range lasting {
		if o.err == nil && o.recorded != nil {
			o.recorded() // last: what is woken last runs first
		}
	}
}

// abort ends a transaction that failed.
func (w *writer) abort() {
	err := explain(w.err)
	if errors.Is(err, ponder.ErrDamaged) {
		w.store.damaged.Store(true)
	}
	w.err = nil
	w.exec(rollback) // fails if SQLite did so already
	w.dropCaches()
	if len(w.batch) == 1 {
		w.batch[0].done <- err
		return
	}
	for _, r := range w.batch {
		r.state.Store(waiting)
	}
	w.alone = append(w.alone, w.batch...)
}

// failAll fails what is pending.
func (w *writer) failAll(err error) {
	for _, r := range slices.Concat(w.pending, w.alone) {
		if r.begin() {
			r.done <- explain(err)
		}
	}
	w.pending, w.alone = w.pending[:0], nil
}
