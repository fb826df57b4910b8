package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/llm"
)

// A holder works on one thread while this process holds its lease.
type holder struct {
	*Engine
	thread       ponder.ThreadID
	node         ponder.NodeID
	lease        ponder.Lease
	hasLease     bool            // else lease is the expected next lease, if no other process held the thread
	ctx          context.Context // done when the holder must stop
	clockAtStart time.Duration   // the process clock when it took the lease
	heads        <-chan ponder.Seq

	state         *threadState     // nil: the thread must be read
	committed     ponder.Seq       // the newest folded event in the log
	saved         ponder.Seq       // the place of the newest checkpoint
	historyRead   ponder.Seq       // older events that were read for new runs since that checkpoint
	batch         []ponder.Event   // folded but not in the log
	pending       []batchedMessage // messages in the batch
	maxBatchBytes int              // limits a batch after the store refused one; zero: no size checks
	batchBytes    int              // of the checked part of the batch

	leaving    bool // the holder starts nothing new
	performers sync.WaitGroup
	attempts   map[string]*attempt // by intent; only loop uses it

	wakeup   chan struct{} // signals posted results and messages
	postedMu sync.Mutex
	posted   []result
	results  []result // collected, not in the log yet
}

// An attempt is a call or a use of a tool that this holder performs.
type attempt struct {
	cancel      context.CancelCauseFunc
	cancelledAt time.Time    // zero: not cancelled
	cutAt       time.Time    // zero: not cut
	written     atomic.Int64 // bytes of text of a call
}

type result struct {
	id      string
	attempt *attempt
	call    *ponder.CallFinished // or
	tool    *ponder.ToolResult
}

// maxConflicts limits the consecutive decisions that the store refuses.
const maxConflicts = 100

// errIdle says that the holder had no more work and released the lease.
var errIdle = errors.New("no work left")

// loop folds new events and results, decides, and appends results and decisions in one
// transaction. Only then it starts actions, so that the log has an intent for each started
// action after a crash.
func (h *holder) loop() error {
	for conflicts := 0; ; {
		if h.ctx.Err() != nil {
			return context.Cause(h.ctx)
		}
		wake, err := h.round()
		switch {
		case (errors.Is(err, ponder.ErrStale) || errors.Is(err, ponder.ErrTaken) || notStorable(err)) && conflicts < maxConflicts:
			h.state = nil // another process appended first, or the batch cannot be stored: read and decide again
			conflicts++
			continue
		case err != nil:
			return err
		}
		conflicts = 0
		if !h.hasLease { // the senders withdrew their messages: take the lease and look for other work
			if err := h.acquireLease(); err != nil {
				return err
			}
			continue
		}
		if h.isIdle(wake) {
			err := h.releaseLease()
			if errors.Is(err, ponder.ErrStale) {
				if err := h.readNew(); err != nil {
					return err
				}
				continue
			}
			err = cmp.Or(err, errIdle)
			return err
		}
		if err := h.waitForNews(wake); err != nil {
			return err
		}
	}
}

// round folds, decides and commits once. It returns the time of the next round.
func (h *holder) round() (wake time.Time, err error) {
	if h.state == nil {
		if err := h.openThread(); err != nil {
			return wake, err
		}
	}
	if err := h.drainInbox(); err != nil {
		return wake, err
	}
	h.collectResults()
	h.foldResults()
	if len(h.results) > 0 && h.state.hasWaitingMode() {
		if err := h.commit(); err != nil {
			return wake, err
		}
	}
	var d *decision
	for rounds := 0; ; rounds++ {
		d = h.state.decide(h.Now(), h.elapsed())
		if rounds > maxRounds && len(d.events) > 0 {
			rounds = h.stopRunaway(d, rounds)
		}
		h.cutCalls(d.cuts)
		if h.foldUnwanted(d.unwanted) { // the decision counted their reservations
			h.state.markDirty()
			continue
		}
		if len(d.events) == 0 {
			break
		}
		h.dropUnstorable(d)
		h.foldDecided(d.events...)
		if err := h.showHistory(); err != nil {
			return wake, err
		}
	}
	if err := h.commit(); err != nil {
		return wake, err
	}
	h.startCommitted()
	h.cancelSuperseded()
	for _, f := range h.attempts {
		at := f.cancelledAt // later than cutAt, if set: a time in the past would wake without end
		if at.IsZero() {
			at = f.cutAt
		}
		if !at.IsZero() {
			d.wakeBy(h.Now().Add(time.Until(at.Add(cancelGrace))))
		}
	}
	return d.wakeAt, nil
}

// stopRunaway fails runs that keep producing events. It returns the new number of rounds.
func (h *holder) stopRunaway(d *decision, rounds int) int {
	if d.failRunaways(h.committed) {
		return 0
	}
	if len(d.events) == 0 {
		h.Logger.Warn("stopped runs that keep waking each other", "thread", h.thread)
	}
	return rounds
}

// elapsed returns the time on the thread's clock.
func (h *holder) elapsed() time.Duration {
	return h.lease.Elapsed + h.clock.total(time.Now()) - h.clockAtStart
}

// foldDecided stamps events and folds them before they are in the log. A caller that passes
// a RunStarted must call showHistory.
func (h *holder) foldDecided(events ...ponder.Event) {
	h.stampEvents(h.elapsed().Truncate(time.Millisecond), events...)
}

func (h *holder) stampEvents(elapsed time.Duration, events ...ponder.Event) {
	now := h.Now().Truncate(time.Microsecond)
	h.batch = slices.Grow(h.batch, len(events))
	for _, ev := range events {
		ev.After, ev.Elapsed = h.committed, elapsed
		if b, ok := ev.Body.(ponder.RunFinished); ok && h.state.runs[ev.Run] != nil {
			b.Spent = h.state.runs[ev.Run].spent // with the calls that the same decision ended
			ev.Body = b
		}
		ev = ev.Stamp(h.thread, h.state.head+1, now)
		h.state.apply(ev)
		h.batch = append(h.batch, ev)
		h.logFailure(ev)
	}
}

// logFailure logs that a run failed.
func (h *holder) logFailure(ev ponder.Event) {
	if b, ok := ev.Body.(ponder.RunFinished); ok && b.Status == ponder.Failed {
		h.Logger.Warn("run failed", "thread", h.thread, "run", ev.Run, "reason", b.Reason)
	}
}

// commit appends the folded batch. If the store refuses it, commit discards the state and
// keeps the results for the next round.
func (h *holder) commit() error {
	if len(h.batch) == 0 {
		return nil
	}
	batch := h.batch
	h.batch, h.batchBytes = nil, 0
	ahead := h.startSpeculative()
	if err := h.appendRetrying(batch, ahead); err != nil {
		h.cancelSpeculative(ahead.calls)
		if notStorable(err) {
			h.enableSizeChecks(batch, err)
		}
		h.discardState()
		return fmt.Errorf("append %s to %s: %w", batch[0].Body.Type(), h.thread, err)
	}
	ahead.release()
	close(ahead.durable)
	h.replyPending(batch)
	h.committed, h.results = h.state.head, nil
	h.saveCheckpoint(false)
	return nil
}

// discardState drops a state that diverged from the log. It keeps the results.
func (h *holder) discardState() {
	h.state, h.batch, h.batchBytes = nil, nil, 0
	h.replyPending(nil)
}

// maxFailing limits how long the store may fail before Work returns its error.
const maxFailing = time.Minute

// appendRetrying appends a batch and retries for maxFailing while the store fails. A batch
// that is recorded but not durable is in the log, so appendRetrying then waits for the disk
// and appends nothing.
func (h *holder) appendRetrying(batch []ponder.Event, a *speculativeCalls) error {
	ctx, began := ponder.OnRecord(h.ctx, a.release), time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := h.appendOnce(ctx, batch)
		recordedOnly := err != nil && a.isRecorded()
		switch {
		case recordedOnly:
			batch, h.hasLease = nil, true
		case err != nil && !isFinal(err):
			if _, unfit := encodedSizes(batch); unfit != nil {
				return unfit
			}
		}
		done := isFinal(err) && !(recordedOnly && errors.Is(err, ponder.ErrFull)) || time.Since(began) > maxFailing
		if err == nil || done || h.ctx.Err() != nil {
			if h.ctx.Err() != nil && err != nil {
				return context.Cause(h.ctx)
			}
			return err
		}
		h.Logger.Warn("append failed; trying again", "thread", h.thread, "error", err)
		if err := sleepContext(h.ctx, wait); err != nil {
			return context.Cause(h.ctx)
		}
	}
}

// acquireLease takes the lease. If the lease shows that the thread changed, it drops the
// cached state.
func (h *holder) acquireLease() error {
	lease, err := h.Store.Take(h.ctx, h.thread, h.node)
	if err != nil && h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	if err != nil {
		return fmt.Errorf("acquire %s: %w", h.thread, err)
	}
	known := h.lease
	h.lease, h.hasLease, h.clockAtStart = lease, true, h.clock.total(time.Now())
	if h.state == nil || known.Fence != lease.Fence {
		h.state, h.committed = nil, lease.Head
		return nil
	}
	if h.committed = h.state.head; h.committed < lease.Head && h.readNew() != nil {
		h.committed = lease.Head // loop reads the thread from its beginning and reports the error
	}
	return nil
}

// appendOnce appends a batch. Without a lease, it takes the lease in the same transaction.
func (h *holder) appendOnce(ctx context.Context, batch []ponder.Event) (err error) {
	if h.hasLease {
		_, err = h.Store.Append(ctx, h.thread, h.lease.Fence, batch...)
		return err
	}
	_, err = h.Store.Retake(ctx, h.thread, h.node, h.lease, batch...)
	h.hasLease = err == nil
	return err
}

// isFinal reports whether a retry of the append cannot succeed.
func isFinal(err error) bool {
	if errors.Is(err, ponder.ErrDisk) {
		return false
	}
	for _, e := range []error{ponder.ErrTaken, ponder.ErrFenced, ponder.ErrStale, ponder.ErrHeld, ponder.ErrNoThread, ponder.ErrNotInput, ponder.ErrTooBig, ponder.ErrFull, ponder.ErrReadOnly, ponder.ErrDamaged, ponder.ErrLost, ponder.ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// readNew folds the events that other processes appended. After an error it discards the state.
func (h *holder) readNew() error {
	for ev, err := range h.Store.Events(h.ctx, h.thread, h.state.head) {
		if err != nil {
			h.discardState()
			return fmt.Errorf("read %s: %w", h.thread, err)
		}
		if ev.Seq > h.committed && !ev.IsInput() {
			return fmt.Errorf("read %s: another holder wrote: %w", h.thread, ponder.ErrFenced)
		}
		h.state.apply(ev)
		if err := h.showHistory(); err != nil {
			return err
		}
	}
	h.committed = h.state.head
	return nil
}

// showHistory applies the older events of the thread to new runs. After an error it
// discards the state, because a run must observe the whole history or none.
func (h *holder) showHistory() error {
	for len(h.state.awaitingHistory) > 0 {
		r := h.state.awaitingHistory[0]
		h.state.awaitingHistory = h.state.awaitingHistory[1:]
		for ev, err := range h.Store.Events(h.ctx, h.thread, 0) {
			if err != nil {
				h.discardState()
				return fmt.Errorf("read %s: %w", h.thread, err)
			}
			if ev.Seq >= r.startSeq {
				break
			}
			h.historyRead++
			if r.observesEvent(ev) {
				r.applyEvent(ev)
			}
		}
		for _, ev := range h.batch {
			if ev.Seq < r.startSeq && r.observesEvent(ev) {
				r.applyEvent(ev)
			}
		}
	}
	return nil
}

// isIdle reports whether the holder has no work and no wake time.
func (h *holder) isIdle(wake time.Time) bool {
	return len(h.attempts) == 0 && len(h.state.intents) == 0 && wake.IsZero() && !h.inbox.hasMessages(h.thread)
}

func (h *holder) releaseLease() error {
	h.saveCheckpoint(true)
	elapsed := h.elapsed()
	err := h.Store.Release(h.ctx, h.thread, h.lease.Fence, h.committed, elapsed)
	if err != nil && h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	if err != nil {
		return fmt.Errorf("release %s: %w", h.thread, err)
	}
	h.lease.Elapsed = elapsed // set last, because elapsed counts from the old value
	return nil
}

// waitForNews blocks until the time wake, or until the thread has new events, results or
// messages.
func (h *holder) waitForNews(wake time.Time) error {
	var alarm <-chan time.Time
	if !wake.IsZero() {
		t := time.NewTimer(wake.Sub(h.Now()))
		defer t.Stop()
		alarm = t.C
	}
	select { // a result precedes a hint
	case <-h.wakeup:
		return nil
	default:
	}
	for {
		select {
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		case <-h.wakeup:
			return nil
		case <-alarm:
			return nil
		case head := <-h.heads:
			switch {
			case head == 0:
				return fmt.Errorf("%s was removed: %w", h.thread, ponder.ErrFenced)
			case head > h.committed:
				return h.readNew()
			}
		}
	}
}

// drain appends the results of actions that ended before the holder had to stop. Interrupted
// actions stay open for the next holder.
func (h *holder) drain(ctx context.Context) {
	h.ctx, h.leaving = ctx, true
	if h.state == nil && (len(h.attempts)+len(h.results) == 0 || h.openThread() != nil) {
		return
	}
	h.collectResults()
	h.results = slices.DeleteFunc(h.results, func(r result) bool {
		return r.tool != nil && r.tool.Dropped || r.call != nil && (r.call.Dropped || r.call.Class == llm.Cancelled)
	})
	h.foldResults()
	if err := h.commit(); err != nil {
		h.Logger.Info("cannot append results; the next holder repeats their calls", "thread", h.thread, "error", err)
	}
}

// waitActions waits for the attempts to end, for cancelGrace at most.
func (h *holder) waitActions() {
	ended := make(chan struct{})
	go func() {
		h.performers.Wait()
		close(ended)
	}()
	t := time.NewTimer(cancelGrace)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		h.Logger.Warn("cancelled calls have not returned", "thread", h.thread)
	}
}

func sleepContext(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
