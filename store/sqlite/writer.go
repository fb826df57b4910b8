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

// A request is a write.
type request struct {
	// do writes. It returns an error only if it refuses the request and has written
	// nothing. Database errors stay in tx.
	do    func(tx *tx) error
	bytes int // approximate

	// volatile says that the write may be lost in a power failure, because leases end then.
	// Its caller does not wait for the disk. Later writes are never durable without it.
	volatile bool

	recorded func() // called once the write survives the process, see [ponder.OnRecord]; or nil

	// calls says that only model calls depend on the write, so that the sync may be
	// delayed.
	calls bool

	// patient says that the write may wait for a while for other writes.
	patient bool

	state atomic.Int32
	done  chan error // receives the outcome; buffered
}

const (
	waiting int32 = iota
	begun         // the caller gets the outcome
	dropped       // the caller is gone: the writer skips it
)

// maxSize limits the bytes of a request.
const maxSize = 256 << 20

func (r *request) tryBegin() bool { return r.state.CompareAndSwap(waiting, begun) }
func (r *request) isUrgent() bool { return !r.calls || r.recorded == nil }
func (r *request) tryDrop() bool  { return r.state.CompareAndSwap(waiting, dropped) }

// submit performs a write and returns when it is durable. If ctx ends before the writer
// begins, the write does not happen.
func (s *Store) submit(ctx context.Context, bytes int, do func(*tx) error) error {
	return s.sendRequest(ctx, &request{do: do, bytes: bytes})
}

// submitVolatile is submit for volatile writes. It returns when the write is visible.
func (s *Store) submitVolatile(ctx context.Context, do func(*tx) error) error {
	return s.sendRequest(ctx, &request{do: do, volatile: true})
}

func (s *Store) sendRequest(ctx context.Context, r *request) error {
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
		if r.tryDrop() {
			return ctx.Err()
		}
	case <-s.stopped:
		if r.tryDrop() {
			return errClosed
		}
	}
	return <-r.done
}

// writeLoop performs requests until the store is closed, and then the waiting ones.
func (s *Store) writeLoop() {
	defer close(s.written)
	w := &writer{store: s}
	defer w.closeStatements()
	for {
		select {
		case r := <-s.queue:
			w.acceptRequest(r)
			continue
		default:
		}
		select {
		case r := <-s.queue:
			w.acceptRequest(r)
		case <-w.due:
			w.servePending()
		case <-s.closing:
			w.servePending()
			return
		}
	}
}

// patientDelay is the longest wait of a patient request for other writes.
const patientDelay = 5 * time.Millisecond

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// A writer is the state of the writing goroutine.
type writer struct {
	store   *Store
	pending []*request       // not begun
	due     <-chan time.Time // fires when a patient request has waited long enough; nil if none waits
	retries []*request       // to be tried alone, after their transaction failed
	batch   []*request       // begun
	tx
}

// Limits of a transaction, so that no caller waits for too many others.
const (
	maxBatch = 512
	maxBytes = 8 << 20
)

// acceptRequest performs r, at once unless it is patient.
func (w *writer) acceptRequest(r *request) {
	w.pending = append(w.pending, r)
	if !r.patient {
		w.servePending()
	} else if w.due == nil {
		w.due = time.After(patientDelay)
	}
}

// servePending performs the pending requests, with all that arrive meanwhile.
func (w *writer) servePending() {
	w.due = nil
	for len(w.pending)+len(w.retries) > 0 {
		w.useConn()
	}
}

// useConn performs a transaction on the connection, which it shares with the users of DB.
func (w *writer) useConn() {
	ctx := context.Background()
	conn, err := w.store.write.Conn(ctx)
	if err != nil {
		w.failAll(err)
		return
	}
	defer conn.Close()
	if err := conn.Raw(func(c any) error { return w.runTransaction(c.(driver.Conn)) }); err != nil {
		w.failAll(err)
	}
}

// runTransaction performs a transaction on a connection. If it returns an error, no pending request
// was begun.
func (w *writer) runTransaction(conn driver.Conn) error {
	if w.conn != conn {
		w.reset(conn)
		w.exec(syncNormal)
		w.store.wal.closeFile()
	}
	w.err = nil
	if err := w.store.checkSafe(); err != nil {
		return err
	}
	if w.store.walFull.CompareAndSwap(true, false) && w.store.isIntact() {
		w.exec(moveWAL)
		w.err = nil // the next transaction tries again
	}
	w.exec(begin)
	if isBusy(w.err) && !w.store.isClosing() {
		w.pending, w.retries = pruneDropped(w.pending), pruneDropped(w.retries)
		return nil // the caller repeats it
	}
	if w.err != nil {
		return w.err
	}
	w.refreshCaches()
	w.gatherBatch()
	w.runBatch()
	return nil
}

// pruneDropped returns the requests whose callers still wait.
func pruneDropped(requests []*request) []*request {
	return slices.DeleteFunc(requests, func(r *request) bool { return r.state.Load() == dropped })
}

// gatherBatch begins the pending requests, and further waiting ones up to the limits.
func (w *writer) gatherBatch() {
	w.batch = nil
	bytes := 0
	take := func(r *request) {
		if r.tryBegin() {
			w.batch = append(w.batch, r)
			bytes += r.bytes
		}
	}
	if len(w.retries) > 0 {
		take(w.retries[0])
		w.retries = w.retries[1:]
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

// runBatch performs the batch and commits. The syncer replies to the callers. If the transaction
// fails, run repeats each request alone, so that a request that is too large fails alone.
func (w *writer) runBatch() {
	outcomes := make([]error, len(w.batch))
	for i, r := range w.batch {
		if w.err == nil {
			outcomes[i] = r.do(&w.tx)
		}
	}
	w.exec(commit)
	if w.err != nil {
		w.abortTransaction()
		return
	}
	w.noteCount()
	if w.pos != w.startPos {
		w.store.grew.Add(1)
	}
	var lasting []outcome
	for i, r := range w.batch {
		if r.volatile {
			r.done <- outcomes[i]
		} else {
			lasting = append(lasting, outcome{r, outcomes[i]})
		}
	}
	if len(lasting) > 0 {
		w.store.written <- group{lasting, w.startPos, w.pos}
	}
	w.store.noteGrowth()
	for _, o := range lasting {
		if o.err == nil && o.recorded != nil {
			o.recorded() // last, because the goroutine that wakes last runs first
		}
	}
}

// abortTransaction ends a failed transaction.
func (w *writer) abortTransaction() {
	err := explainError(w.err)
	if errors.Is(err, ponder.ErrDamaged) {
		w.store.damaged.Store(true)
	}
	w.err = nil
	w.exec(rollback) // fails if SQLite has rolled back already
	w.dropCaches()
	if len(w.batch) == 1 {
		w.batch[0].done <- err
		return
	}
	for _, r := range w.batch {
		r.state.Store(waiting)
	}
	w.retries = append(w.retries, w.batch...)
}

// failAll fails the pending requests.
func (w *writer) failAll(err error) {
	for _, r := range slices.Concat(w.pending, w.retries) {
		if r.tryBegin() {
			r.done <- explainError(err)
		}
	}
	w.pending, w.retries = w.pending[:0], nil
}
