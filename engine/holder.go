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
	thread ponder.ThreadID
	node   ponder.NodeID
	lease  ponder.Lease
	taken  bool            // else lease is what it will be, if nobody was there meanwhile
	ctx    context.Context // done when the holder has to stop
	start  time.Duration   // the process's clock when the lease was taken
	heads  <-chan ponder.Seq

	line      *line          // nil: to be read
	committed ponder.Seq     // the newest event that is in the log and folded
	saved     ponder.Seq     // of the newest checkpoint
	shown     ponder.Seq     // events of before that were read for a run since then
	batch     []ponder.Event // folded, not in the log yet
	heard     []heard        // in the batch
	most      int            // bytes that a batch may have, once one was refused; zero: nothing is weighed
	weight    int            // of the batch, as far as it was weighed

	leaving    bool // nothing is begun any more
	performers sync.WaitGroup
	flight     map[string]*flight // by intent; of loop alone

	ring    chan struct{} // there is mail
	mailMu  sync.Mutex
	mail    []result
	results []result // read, and not in the log yet
}

// A flight is an action that this holder performs.
type flight struct {
	cancel  context.CancelCauseFunc
	dropped time.Time // since when it should be over
}

// A result is what an attempt came to.
type result struct {
	id   string
	of   *flight
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
		case (errors.Is(err, ponder.ErrStale) || errors.Is(err, ponder.ErrTaken) || isUnfit(err)) && conflicts < maxConflicts:
			h.line = nil // somebody was faster, or it can't be: read again, decide again
			conflicts++
			continue
		case err != nil:
			return err
		}
		conflicts = 0
		if !h.taken { // who was heard has gone away: is there anything else?
			if err := h.take(); err != nil {
				return err
			}
			continue
		}
		if h.idle(wake) {
			err := h.release()
			if errors.Is(err, ponder.ErrStale) {
				if err := h.read(); err != nil {
					return err
				}
				continue
			}
			if err == nil {
				err = errIdle
			}
			return err
		}
		if err := h.wait(wake); err != nil {
			return err
		}
	}
}

// round brings the thread up to date. It returns when to look again.
func (h *holder) round() (wake time.Time, err error) {
	if h.line == nil {
		if err := h.open(); err != nil {
			return wake, err
		}
	}
	if err := h.hear(); err != nil {
		return wake, err
	}
	h.collect()
	h.settle()
	var d *decision
	for rounds := 0; ; rounds++ {
		d = h.line.decide(time.Now(), h.elapsed())
		if rounds > maxRounds && len(d.events) > 0 {
			rounds = h.rest(d, rounds)
		}
		if dropped := h.drop(d.drop); dropped && len(d.events) == 0 {
			continue
		}
		if len(d.events) == 0 {
			break
		}
		h.sift(d)
		h.fold(d.events...)
		if err := h.recall(); err != nil {
			return wake, err
		}
	}
	if err := h.commit(); err != nil {
		return wake, err
	}
	h.act()
	for _, f := range h.flight {
		if !f.dropped.IsZero() {
			d.wakeAt(f.dropped.Add(graceful))
		}
	}
	return d.wake, nil
}

// rest has a thread that goes on for ever come to rest, and returns the rounds so far.
func (h *holder) rest(d *decision, rounds int) int {
	if d.rest(h.committed) {
		return 0
	}
	if len(d.events) == 0 {
		h.Logger.Warn("modes that wake each other were stopped", "thread", h.thread)
	}
	return rounds
}

// elapsed returns the thread's clock.
func (h *holder) elapsed() time.Duration {
	return h.lease.Elapsed + h.clock.total(time.Now()) - h.start
}

// fold stamps events with their places and folds them, ahead of the log. Whoever has runs
// started shows them the history: see recall.
func (h *holder) fold(events ...ponder.Event) {
	h.stamp(h.elapsed().Truncate(time.Millisecond), events...)
}

func (h *holder) stamp(elapsed time.Duration, events ...ponder.Event) {
	now := time.Now().Truncate(time.Microsecond)
	h.batch = slices.Grow(h.batch, len(events))
	for _, ev := range events {
		ev.After, ev.Elapsed = h.committed, elapsed
		ev = ev.Stamp(h.thread, h.line.head+1, now)
		h.line.apply(ev)
		h.batch = append(h.batch, ev)
		h.warn(ev)
	}
}

// warn logs that a run failed.
func (h *holder) warn(ev ponder.Event) {
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
	h.batch, h.weight = nil, 0
	ahead := h.ahead()
	if err := h.append(batch, ahead); err != nil {
		h.forget(ahead.calls)
		if isUnfit(err) {
			h.beware(batch, err)
		}
		h.lose()
		return fmt.Errorf("append %s to %s: %w", batch[0].Body.Type(), h.thread, err)
	}
	ahead.release()
	close(ahead.durable)
	h.answer(batch)
	h.committed, h.results = h.line.head, nil
	h.checkpoint(false)
	return nil
}

// lose drops a fold that is not what the log is. What came of actions is kept.
func (h *holder) lose() {
	h.line, h.batch, h.weight = nil, nil, 0
	h.answer(nil)
}

// maxFailing is how long a store may fail before the work on a thread ends with its error.
const maxFailing = time.Minute

// append waits out a failing store, for a minute at most. What is recorded, but not durable,
// is in the log: to append nothing more waits for that.
func (h *holder) append(batch []ponder.Event, a *ahead) error {
	ctx, began := ponder.OnRecord(h.ctx, a.release), time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := h.write(ctx, batch)
		unsafe := err != nil && a.isRecorded()
		switch {
		case unsafe:
			batch, h.taken = nil, true
		case err != nil && !final(err):
			if _, unfit := weighAll(batch); unfit != nil {
				return unfit
			}
		}
		over := final(err) && !(unsafe && errors.Is(err, ponder.ErrFull)) || time.Since(began) > maxFailing
		if err == nil || over || h.ctx.Err() != nil {
			if h.ctx.Err() != nil && err != nil {
				return context.Cause(h.ctx)
			}
			return err
		}
		h.Logger.Warn("append failed; trying again", "thread", h.thread, "error", err)
		if err := sleep(h.ctx, wait); err != nil {
			return context.Cause(h.ctx)
		}
	}
}

// take takes the lease. A line of which that shows that it is not what the thread is any
// more is dropped.
func (h *holder) take() error {
	lease, err := h.Store.Take(h.ctx, h.thread, h.node)
	if err != nil && h.ctx.Err() != nil {
		return context.Cause(h.ctx)
	}
	if err != nil {
		return fmt.Errorf("take %s: %w", h.thread, err)
	}
	known := h.lease
	h.lease, h.taken, h.start = lease, true, h.clock.total(time.Now())
	if h.line == nil || known.Fence != lease.Fence {
		h.line, h.committed = nil, lease.Head
		return nil
	}
	if h.committed = h.line.head; h.committed < lease.Head && h.read() != nil {
		h.committed = lease.Head // the loop reads the thread from its beginning, and says what is wrong
	}
	return nil
}

// write writes a batch. The first takes the lease, if nothing was to be read for it.
func (h *holder) write(ctx context.Context, batch []ponder.Event) (err error) {
	if h.taken {
		_, err = h.Store.Append(ctx, h.thread, h.lease.Fence, batch...)
		return err
	}
	_, err = h.Store.Retake(ctx, h.thread, h.node, h.lease, batch...)
	h.taken = err == nil
	return err
}

// final reports whether a store's answer will not change.
func final(err error) bool {
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
func (h *holder) read() error {
	for ev, err := range h.Store.Events(h.ctx, h.thread, h.line.head) {
		if err != nil {
			h.lose()
			return fmt.Errorf("read %s: %w", h.thread, err)
		}
		if ev.Seq > h.committed && !ev.IsInput() {
			return fmt.Errorf("read %s: another holder wrote: %w", h.thread, ponder.ErrFenced)
		}
		h.line.apply(ev)
		if err := h.recall(); err != nil {
			return err
		}
	}
	h.committed = h.line.head
	return nil
}

// recall shows runs that have just started what was on the thread before. If that can't be
// read, the line is lost: a run that knows a part of it is not what the log says.
func (h *holder) recall() error {
	for len(h.line.fresh) > 0 {
		r := h.line.fresh[0]
		h.line.fresh = h.line.fresh[1:]
		for ev, err := range h.Store.Events(h.ctx, h.thread, 0) {
			if err != nil {
				h.lose()
				return fmt.Errorf("read %s: %w", h.thread, err)
			}
			if ev.Seq >= r.seq {
				break
			}
			h.shown++
			if r.sees(ev) {
				r.feed(ev)
			}
		}
		for _, ev := range h.batch {
			if ev.Seq < r.seq && r.sees(ev) {
				r.feed(ev)
			}
		}
	}
	return nil
}

// idle reports whether there is nothing left to do and nothing to wait for but
// what others may append.
func (h *holder) idle(wake time.Time) bool {
	return len(h.flight) == 0 && len(h.line.open) == 0 && wake.IsZero() && !h.letters.waits(h.thread)
}

func (h *holder) release() error {
	h.checkpoint(true)
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
func (h *holder) giveUp(ctx context.Context) error {
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
func (h *holder) wait(wake time.Time) error {
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
		case <-h.ring:
			return nil
		case <-alarm:
			return nil
		case head := <-h.heads:
			switch {
			case head == 0:
				return fmt.Errorf("%s was removed: %w", h.thread, ponder.ErrFenced)
			case head > h.committed:
				return h.read()
			}
		}
	}
}

// leave writes what came of the actions that were through when the holder was
// told to stop. Those that it interrupted stay open, for the next one.
func (h *holder) leave(ctx context.Context) {
	h.ctx, h.leaving = ctx, true
	if h.line == nil && (len(h.flight)+len(h.results) == 0 || h.open() != nil) {
		return
	}
	h.collect()
	h.results = slices.DeleteFunc(h.results, func(r result) bool {
		return r.tool != nil && r.tool.Dropped || r.call != nil && (r.call.Dropped || r.call.Class == llm.Cancelled)
	})
	h.settle()
	if err := h.commit(); err != nil {
		h.Logger.Info("results not kept; the next holder asks again", "thread", h.thread, "error", err)
	}
}

// land waits for what is in flight to end, but not for ever.
func (h *holder) land() {
	ended := make(chan struct{})
	go func() {
		h.performers.Wait()
		close(ended)
	}()
	t := time.NewTimer(graceful)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		h.Logger.Warn("calls do not end though they were cancelled", "thread", h.thread)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
