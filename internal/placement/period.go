package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder"
)

// A period is an uninterrupted time of work on a thread in this process.
type period struct {
	thread  ponder.ThreadID
	restart bool          // started again meanwhile
	over    chan struct{} // closed at the end
	err     error         // outcome; valid after over
}

func (pd *period) hasEnded() bool {
	select {
	case <-pd.over:
		return true
	default:
		return false
	}
}

// An outcome is the last failure of a thread.
type outcome struct {
	err   error
	at    time.Time
	fails int // consecutive failures
}

// Start implements [ponder.Placement]. It starts work immediately. It fails only if ctx is done or
// the placement is closed.
func (p *Placement) Start(ctx context.Context, thread ponder.ThreadID) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start %s: %w", thread, err)
	}
	pd, begun, err := p.startPeriod(thread)
	if err != nil {
		return fmt.Errorf("start %s: %w", thread, err)
	}
	if begun && p.keeper != nil {
		time.AfterFunc(rowDelay, func() { p.keeper.addRow(pd) })
	}
	return nil
}

// rowDelay is the age at which a period gets a row. Most conversation turns are shorter, and a
// mass start leaves the connection to the log. Until then the log, or the row that requested the
// thread, records the work.
const rowDelay = time.Second

// Wait blocks until the thread has no work here and returns the outcome of its last period: nil if
// nothing is left or there was none, [ponder.ErrHeld] if another process holds the thread,
// [context.Canceled] if the placement was closed, or the error of Work. A serving process also
// logs that error. Wait returns ctx's error if ctx ends first.
func (p *Placement) Wait(ctx context.Context, thread ponder.ThreadID) error {
	p.mu.Lock()
	pd, last := p.periods[thread], p.outcomes[thread]
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

// startPeriod starts a period. In a running period it requests another call of Work instead.
func (p *Placement) startPeriod(thread ponder.ThreadID) (pd *period, begun bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	if pd := p.periods[thread]; pd != nil {
		pd.restart = true
		return pd, false, nil
	}
	pd = &period{thread: thread, over: make(chan struct{})}
	p.periods[thread] = pd
	p.workers.Go(func() { p.runPeriod(pd) })
	return pd, true, nil
}

func (p *Placement) runPeriod(pd *period) {
	for {
		err := p.workUntilAlive(pd.thread)
		if p.finishPeriod(pd, err) {
			break
		}
	}
	p.logOutcome(pd)
	if p.Ended != nil {
		p.Ended(pd.thread)
	}
	close(pd.over)
}

// logOutcome logs a failure. A process that does not serve reports it through Wait instead.
func (p *Placement) logOutcome(pd *period) {
	switch {
	case pd.err == nil || errors.Is(pd.err, ponder.ErrHeld) || errors.Is(pd.err, ponder.ErrNoThread) || p.ctx.Err() != nil:
	case p.Serve:
		p.Logger.Error("work on a thread failed", "thread", pd.thread, "error", pd.err)
	default:
		p.Logger.Debug("work on a thread failed", "thread", pd.thread, "error", pd.err)
	}
}

// rejoinWait is the first wait for the process to become a new node.
const rejoinWait = 50 * time.Millisecond

// workUntilAlive calls Work until it returns anything but ErrFenced, so that the process becomes a new
// node first. If another node took the thread, Work returns ErrHeld.
func (p *Placement) workUntilAlive(thread ponder.ThreadID) error {
	for wait := rejoinWait; ; wait = min(2*wait, ponder.HeartbeatInterval) {
		err := p.Work(p.ctx, thread)
		if !errors.Is(err, ponder.ErrFenced) || !sleepContext(p.ctx, wait) {
			return err
		}
	}
}

// finishPeriod ends a period, or returns false if Work must run again.
func (p *Placement) finishPeriod(pd *period, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pd.restart && p.ctx.Err() == nil { // the caller of Start may have fixed the cause
		pd.restart = false
		return false
	}
	delete(p.periods, pd.thread)
	pd.err = err
	p.recordOutcome(pd)
	return true
}

// maxOutcomes limits the stored failures.
const maxOutcomes = 1000

// recordOutcome stores the outcome for Wait and for the next sweep.
func (p *Placement) recordOutcome(pd *period) {
	last := p.outcomes[pd.thread]
	delete(p.outcomes, pd.thread)
	if pd.err == nil {
		return
	}
	if len(p.outcomes) >= maxOutcomes {
		for thread := range p.outcomes {
			delete(p.outcomes, thread)
			break
		}
	}
	next := outcome{err: pd.err, at: time.Now()}
	if !errors.Is(pd.err, ponder.ErrHeld) {
		next.fails = last.fails + 1
	}
	p.outcomes[pd.thread] = next
}

// sleepContext waits and reports whether ctx is still active.
func sleepContext(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
