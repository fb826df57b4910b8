package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder"
)

// A period is a time in which a thread is worked on here without a break.
type period struct {
	thread ponder.ThreadID
	again  bool          // it was started once more meanwhile
	over   chan struct{} // closed at the end
	err    error         // how it ended; to be read after that
}

// ended reports whether the period is over.
func (pd *period) ended() bool {
	select {
	case <-pd.over:
		return true
	default:
		return false
	}
}

// An end is how the last busy period of a thread ended in an error.
type end struct {
	err   error
	at    time.Time
	fails int // in a row
}

// Start implements [ponder.Placement]. Work begins at once; the error can only be
// that the placement is closed.
func (p *Placement) Start(ctx context.Context, thread ponder.ThreadID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start %s: %w", thread, err)
	}
	pd, begun, err := p.begin(thread)
	if err != nil {
		return fmt.Errorf("start %s: %w", thread, err)
	}
	if begun && p.keeper != nil {
		time.AfterFunc(insureAfter, func() { p.keeper.insure(pd) })
	}
	return nil
}

// insureAfter is how long a period lasts until it gets a row. Turns of conversations
// are over by then; and when many threads are started at once, the log needs the
// connection. Until then the log itself, or the row that asked for the thread, says
// that there is something to do.
const insureAfter = time.Second

// Wait waits until a thread is not at work here, and returns how its last busy
// period ended: nil if nothing is left to do, or if there was none;
// [ponder.ErrHeld] if another process has the thread; [context.Canceled] if the
// placement was closed; or what else Work returned, which a process that serves
// logs too. It is ctx's error if that is done before.
func (p *Placement) Wait(ctx context.Context, thread ponder.ThreadID) error {
	p.mu.Lock()
	pd, last := p.periods[thread], p.ends[thread]
	p.mu.Unlock()
	if pd == nil {
		return last.err
	}
	select {
	case <-pd.over:
		return pd.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin begins a busy period, unless the thread is in one: then that will look at
// the thread once more before it ends.
func (p *Placement) begin(thread ponder.ThreadID) (pd *period, begun bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	if pd := p.periods[thread]; pd != nil {
		pd.again = true
		return pd, false, nil
	}
	pd = &period{thread: thread, over: make(chan struct{})}
	p.periods[thread] = pd
	p.workers.Go(func() { p.run(pd) })
	return pd, true, nil
}

// run is a busy period.
func (p *Placement) run(pd *period) {
	for {
		err := p.work(pd.thread)
		if p.finish(pd, err) {
			break
		}
	}
	p.report(pd)
	if p.Ended != nil {
		p.Ended(pd.thread)
	}
	close(pd.over)
}

// report logs what went wrong, if nobody waits for the thread who would say so.
func (p *Placement) report(pd *period) {
	switch {
	case pd.err == nil || errors.Is(pd.err, ponder.ErrHeld) || errors.Is(pd.err, ponder.ErrNoThread) || p.ctx.Err() != nil:
	case p.Serve:
		p.Logger.Error("work on a thread ended", "thread", pd.thread, "error", pd.err)
	default:
		p.Logger.Debug("work on a thread ended", "thread", pd.thread, "error", pd.err)
	}
}

// rejoinWait is how long a process waits, at first, for itself to become a new
// node.
const rejoinWait = 50 * time.Millisecond

// work calls Work until it does not end for want of a node that is alive. A thread
// that another node took is held by that.
func (p *Placement) work(thread ponder.ThreadID) error {
	for wait := rejoinWait; ; wait = min(2*wait, ponder.BeatEvery) {
		err := p.Work(p.ctx, thread)
		if !errors.Is(err, ponder.ErrFenced) || !sleep(p.ctx, wait) {
			return err
		}
	}
}

// finish ends a period, or reports false if the thread must be looked at again.
func (p *Placement) finish(pd *period, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pd.again && p.ctx.Err() == nil { // whoever asked may have mended what was wrong
		pd.again = false
		return false
	}
	delete(p.periods, pd.thread)
	pd.err = err
	p.remember(pd)
	return true
}

// maxEnds is how many periods that ended in an error are remembered.
const maxEnds = 1000

// remember keeps how a period ended for Wait, and for the next sweep.
func (p *Placement) remember(pd *period) {
	last := p.ends[pd.thread]
	delete(p.ends, pd.thread)
	if pd.err == nil {
		return
	}
	if len(p.ends) >= maxEnds {
		for thread := range p.ends { // any
			delete(p.ends, thread)
			break
		}
	}
	next := end{err: pd.err, at: time.Now()}
	if !errors.Is(pd.err, ponder.ErrHeld) {
		next.fails = last.fails + 1
	}
	p.ends[pd.thread] = next
}

// sleep waits, and reports whether ctx lasted that long.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
