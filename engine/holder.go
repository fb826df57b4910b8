package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// A holder is a mind at work on a thread it holds.
type holder struct {
	*Engine
	thread       ponder.ThreadID
	node         ponder.NodeID
	lease        ponder.Lease
	hasLease     bool            // else lease is what it will be, if nobody was there meanwhile
	ctx          context.Context // done when the holder has to stop
	clockAtStart time.Duration   // the process's clock when the lease was taken
	heads        <-chan ponder.Seq

	state         *threadState   // nil: to be read
	committed     ponder.Seq     // the newest event that is in the log and folded
	saved         ponder.Seq     // of the newest checkpoint
	historyRead   ponder.Seq     // events of before that were read for a run since then
	batch         []ponder.Event // folded, not in the log yet
	pending       []batched      // in the batch
	maxBatchBytes int            // bytes that a batch may have, once one was refused; zero: nothing is weighed
	batchBytes    int            // of the batch, as far as it was weighed

	leaving    bool // nothing is begun any more
	performers sync.WaitGroup
	attempts   map[string]*attempt // by intent; of loop alone

	wakeup   chan struct{} // there is mail
	postedMu sync.Mutex
	posted   []result
	results  []result // read, and not in the log yet
}

// A flight is an action that this holder performs.
type attempt struct {
	cancel      context.CancelCauseFunc
	cancelledAt time.Time // since when it should be over
}

// A result is what an attempt came to.
type result struct {
	id   string
	of   *attempt
	call *ponder.CallFinished // or
	tool *ponder.ToolResult
}

// maxConflicts is how often in a row a decision may be refused.
const maxConflicts = 100

// errIdle says that there was nothing left to do, and the lease is released.
var errIdle = errors.New("nothing left to do")

// loop folds what came, decides, writes results and decisions in one
// transaction, and only then acts on them: what a holder left when it was
// killed is to the next one an intent like any other.
func (h *holder) loop() error {
	for conflicts := 0; ; {
		if h.ctx.Err() != nil {
			return context.Cause(h.ctx)
		}
		wake, err := h.round()
		switch {
		case (errors.Is(err, ponder.ErrStale) || errors.Is(err, ponder.ErrTaken) || notStorable(err)) && conflicts < maxConflicts:
			h.state = nil // somebody was faster, or it can't be: read again, decide again
			conflicts++
			continue
		case err != nil:
			return err
		}
		conflicts = 0
		if !h.hasLease { // who was heard has gone away: is there anything else?
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
			if err == nil {
				err = errIdle
			}
			return err
		}
		if err := h.waitForNews(wake); err != nil {
			return err
		}
	}
}

// round brings the thread up to date. It returns when to look again.
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
	var d *decision
	for rounds := 0; ; rounds++ {
		d = h.state.decide(time.Now(), h.elapsed())
		if rounds > maxRounds && len(d.events) > 0 {
			rounds = h.stopRunaway(d, rounds)
		}
		if dropped := h.cancelUnwanted(d.unwanted); dropped && len(d.events) == 0 {
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
	for _, f := range h.attempts {
		if !f.cancelledAt.IsZero() {
			d.wakeBy(f.cancelledAt.Add(cancelGrace))
		}
	}
	return d.wakeAt, nil
}

// rest has a thread that goes on for ever come to rest, and returns the rounds so far.
func (h *holder) stopRunaway(d *decision, rounds int) int {
	if d.failRunaways(h.committed) {
		return 0
	}
	if len(d.events) == 0 {
		h.Logger.Warn("modes that wake each other were stopped", "thread", h.thread)
	}
	return rounds
}

// elapsed returns the thread's clock.
func (h *holder) elapsed() time.Duration {
	return h.lease.Elapsed + h.clock.total(time.Now()) - h.clockAtStart
}

// fold stamps events with their places and folds them, ahead of the log. Whoever has runs
// started shows them the history: see recall.
func (h *holder) foldDecided(events ...ponder.Event) {
	h.stamp(h.elapsed().Truncate(time.Millisecond), events...)
}

func (h *holder) stamp(elapsed time.Duration, events ...ponder.Event) {
	now := time.Now().Truncate(time.Microsecond)
	h.batch = slices.Grow(h.batch, len(events))
	for _, ev := range events {
		ev.After, ev.Elapsed = h.committed, elapsed
		ev = ev.Stamp(h.thread, h.state.head+1, now)
		h.state.apply(ev)
		h.batch = append(h.batch, ev)
		h.logFailure(ev)
	}
}

// warn logs that a run failed.
func (h *holder) logFailure(ev ponder.Event) {
	if b, ok := ev.Body.(ponder.RunFinished); ok && b.Status == ponder.Failed {
		h.Logger.Warn("run failed", "thread", h.thread, "run", ev.Run, "reason", b.Reason)
	}
}

// commit writes what was folded. If that is refused, the fold is not to be used
// any more; what came of actions is kept, and told to the next.
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

// lose drops a fold that is not what the log is. What came of actions is kept.
func (h *holder) discardState() {
	h.state, h.batch, h.batchBytes = nil, nil, 0
	h.replyPending(nil)
}

// maxFailing is how long a store may fail before the work on a thread ends with its error.
const maxFailing = time.Minute

// append waits out a failing store, for a minute at most. What is recorded, but not durable,
// is in the log: to append nothing more waits for that.
func (h *holder) appendRetrying(batch []ponder.Event, a *speculativeCalls) error {
	ctx, began := ponder.OnRecord(h.ctx, a.release), time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := h.appendOnce(ctx, batch)
		unsafe := err != nil && a.isRecorded()
		switch {
		case unsafe:
			batch, h.hasLease = nil, true
		case err != nil && !isFinal(err):
			if _, unfit := encodedSizes(batch); unfit != nil {
				return unfit
			}
		}
		over := isFinal(err) && !(unsafe && errors.Is(err, ponder.ErrFull)) || time.Since(began) > maxFailing
		if err == nil || over || h.ctx.Err() != nil {
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

// take takes the lease. A line of which that shows that it is not what the thread is any
// more is dropped.
func (h *holder) acquireLease() error {
	lease, err := h.Store.Take(h.ctx, h.thread, h.node)
	if err != nil && h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	if err != nil {
		return fmt.Errorf("take %s: %w", h.thread, err)
	}
	known := h.lease
	h.lease, h.hasLease, h.clockAtStart = lease, true, h.clock.total(time.Now())
	if h.state == nil || known.Fence != lease.Fence {
		h.state, h.committed = nil, lease.Head
		return nil
	}
	if h.committed = h.state.head; h.committed < lease.Head && h.readNew() != nil {
		h.committed = lease.Head // the loop reads the thread from its beginning, and says what is wrong
	}
	return nil
}

// write writes a batch. The first takes the lease, if nothing was to be read for it.
func (h *holder) appendOnce(ctx context.Context, batch []ponder.Event) (err error) {
	if h.hasLease {
		_, err = h.Store.Append(ctx, h.thread, h.lease.Fence, batch...)
		return err
	}
	_, err = h.Store.Retake(ctx, h.thread, h.node, h.lease, batch...)
	h.hasLease = err == nil
	return err
}

// final reports whether a store's answer will not change.
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

// read folds what others appended. A line that could not be read to the end is lost.
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

// recall shows runs that have just started what was on the thread before. If that can't be
// read, the line is lost: a run that knows a part of it is not what the log says.
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
			if r.observes(ev) {
				r.applyEvent(ev)
			}
		}
		for _, ev := range h.batch {
			if ev.Seq < r.startSeq && r.observes(ev) {
				r.applyEvent(ev)
			}
		}
	}
	return nil
}

// idle reports whether there is nothing left to do and nothing to wait for but
// what others may append.
func (h *holder) isIdle(wake time.Time) bool {
	return len(h.attempts) == 0 && len(h.state.intents) == 0 && wake.IsZero() && !h.inbox.waits(h.thread)
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
	h.lease.Elapsed = elapsed // before that, what counts from start is not in it
	return nil
}

// giveUp releases the lease, whatever of the thread was read.
func (h *holder) abandonLease(ctx context.Context) error {
	for head := h.committed; ; {
		err := h.Store.Release(ctx, h.thread, h.lease.Fence, head, h.elapsed())
		if !errors.Is(err, ponder.ErrStale) {
			return err
		}
		info, err := h.Store.Thread(ctx, h.thread)
		if err != nil {
			return err
		}
		head = info.Head
	}
}

// wait returns when there is mail, the thread has grown, or the time is wake.
func (h *holder) waitForNews(wake time.Time) error {
	var alarm <-chan time.Time
	if !wake.IsZero() {
		t := time.NewTimer(time.Until(wake))
		defer t.Stop()
		alarm = t.C
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

// leave writes what came of the actions that were through when the holder was
// told to stop. Those that it interrupted stay open, for the next one.
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
		h.Logger.Info("results not kept; the next holder asks again", "thread", h.thread, "error", err)
	}
}

// land waits for what is in flight to end, but not for ever.
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
		h.Logger.Warn("calls do not end though they were cancelled", "thread", h.thread)
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
