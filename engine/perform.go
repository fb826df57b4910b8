package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ponder"
)

// Bounds on what is in flight.
const (
	maxResult      = 1 << 20          // bytes of a tool's result; the rest is cut off
	maxSilence     = 8 * time.Minute  // of an attempt, between two pieces of its answer; adapters have less patience
	minSilence     = 30 * time.Second // the same, of a run that is told to conclude
	conclusionWait = 2 * time.Second  // that a conclusion waits more than once, while another finds out
	maxAttempts    = 99               // more than any policy allows of one model
	cancelGrace    = 5 * time.Second  // in which what was dropped must end
)

// act starts what is committed, wanted and not in flight.
func (h *holder) startCommitted() {
	for id, in := range h.state.intents {
		if h.attempts[id] == nil && !in.superseded {
			h.startAction(in, nil)
		}
	}
}

// ahead begins the calls that are not in the log yet. They are held back until they are
// recorded, so that all they need is there when they may be made, and may be made while the
// disk is waited for. See docs/design/durable.md.
func (h *holder) startSpeculative() *speculativeCalls {
	a := &speculativeCalls{recorded: make(chan struct{}), durable: make(chan struct{})}
	a.release = sync.OnceFunc(func() { close(a.recorded) })
	for _, in := range h.state.intents {
		if in.seq > h.committed && in.call != nil && !in.superseded && !h.leaving {
			a.calls = append(a.calls, h.startAction(in, a))
		}
	}
	return a
}

// isRecorded reports whether a store has said so.
func (a *speculativeCalls) isRecorded() bool {
	select {
	case <-a.recorded:
		return true
	default:
		return false
	}
}

// An ahead is calls that are begun before they are in the log.
type speculativeCalls struct {
	calls    []*attempt
	recorded chan struct{} // closed when they may be made
	durable  chan struct{} // closed when others may hear what they say
	release  func()        // closes recorded, if it is not
}

// begin performs an intent in a goroutine of its own; what is ahead waits for the log.
func (h *holder) startAction(in *intent, a *speculativeCalls) *attempt {
	ctx, cancel := context.WithCancelCause(h.ctx)
	id := in.id()
	f := &attempt{cancel: cancel}
	h.attempts[id] = f
	in.startedHere = true
	inherited := in.seq <= h.lease.Head // of a holder that is gone
	fails, attempts := in.run.actions[in.key].failures, in.run.actions[in.key].attempts
	run, key, cause, seq, patience, left := in.run.ID, in.key, in.cause, in.seq, in.run.stallTimeout(), in.run.timeLeft(h.elapsed())
	use := ponder.ToolContext{Thread: h.thread, Run: run, Mode: in.run.Mode}
	h.performers.Go(func() {
		defer cancel(nil)
		res := result{id: id, of: f}
		if in.tool != nil {
			r := h.useTool(ponder.WithToolContext(ctx, use), *in.tool, inherited)
			res.tool = &r
		} else {
			r := h.attemptCall(&callAttempt{CallStarted: *in.call, ctx: ctx, stop: cancel, run: run, key: key, failures: fails, stallTimeout: patience, timeLeft: left, attempts: attempts, seq: seq, speculative: a}, cause)
			res.call = &r
		}
		h.postResult(res)
	})
	return f
}

// forget ends calls that were begun ahead of an append that failed.
func (h *holder) cancelSpeculative(calls []*attempt) {
	for _, f := range calls {
		f.cancel(nil)
	}
	maps.DeleteFunc(h.attempts, func(_ string, f *attempt) bool { return slices.Contains(calls, f) })
}

// patience returns how long a call of the run may be silent. A run that is to
// conclude waits twice as long as its slowest call took, and falls back on
// what it has then.
func (r *run) stallTimeout() time.Duration {
	if !r.budgetNotified && !r.answerNow {
		return maxSilence
	}
	return min(maxSilence-1, max(minSilence, 2*r.slowest))
}

// post puts a result into the mail.
func (h *holder) postResult(r result) {
	h.postedMu.Lock()
	h.posted = append(h.posted, r)
	h.postedMu.Unlock()
	select {
	case h.wakeup <- struct{}{}:
	default:
	}
}

// collect takes the mail. What is late ends here if it does not end by itself.
func (h *holder) collectResults() {
	h.postedMu.Lock()
	mail := h.posted
	h.posted = nil
	h.postedMu.Unlock()
	for _, r := range mail {
		if h.attempts[r.id] == r.of {
			delete(h.attempts, r.id)
			h.results = append(h.results, r)
		}
	}
	for id, f := range h.attempts {
		in := h.state.intents[id]
		switch {
		case in == nil: // somebody else wrote its result
			f.cancel(nil)
			delete(h.attempts, id)
		case !f.cancelledAt.IsZero() && time.Since(f.cancelledAt) >= cancelGrace:
			h.Logger.Warn("does not end though it was cancelled", "thread", h.thread, "action", id)
			delete(h.attempts, id)
		}
	}
}

// settle folds the results. None starts a run that is to be shown the history.
func (h *holder) foldResults() {
	h.results = slices.DeleteFunc(h.results, func(r result) bool { return h.state.intents[r.id] == nil })
	for _, r := range h.results {
		ev := h.resultEvent(h.state.intents[r.id], r)
		if h.maxBatchBytes > 0 {
			ev = h.sanitize(ev)
		}
		h.foldDecided(ev)
	}
}

// event returns the event of what an attempt came to.
func (h *holder) resultEvent(in *intent, r result) ponder.Event {
	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.internal}
	if r.tool != nil {
		b := *r.tool
		b.Outcome = in.markDropped(b.Outcome)
		ev.Body = b
		return ev
	}
	b := *r.call
	b.Message = h.redactMessage(in.run.mode, b.Message)
	b.Outcome = in.markDropped(b.Outcome)
	ev.Body = b
	return ev
}

// outcome marks what nobody wants any more.
func (in *intent) markDropped(o ponder.Outcome) ponder.Outcome {
	if in.superseded || in.run.ended {
		o.Dropped, o.RetryAt, o.Next, o.NotBefore = true, time.Time{}, "", time.Time{}
	}
	return o
}

// drop ends what is not wanted: what this holder performs is cancelled and ends
// by itself; of what another left nobody knows, so it is charged all that was
// held. It reports whether anything was folded.
func (h *holder) cancelUnwanted(unwanted []*intent) (folded bool) {
	for _, in := range unwanted {
		in.superseded = true
		in.run.actions[in.key].inFlight = nil
	}
	for id, in := range h.state.intents {
		if !in.superseded {
			continue
		}
		f := h.attempts[id]
		switch {
		case f == nil && !h.hasResult(id):
			h.foldDecided(interruptedResult(in, in.seq <= h.lease.Head || in.startedHere))
			folded = true
		case f != nil && f.cancelledAt.IsZero():
			f.cancelledAt = time.Now()
			f.cancel(nil)
		}
	}
	return folded
}

// has reports whether a result waits to be folded.
func (h *holder) hasResult(id string) bool {
	for _, r := range h.results {
		if r.id == id {
			return true
		}
	}
	return false
}

// lost returns the result of an intent of which nobody knows what became, if it
// has begun at all.
func interruptedResult(in *intent, begun bool) ponder.Event {
	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.internal}
	o := ponder.Outcome{Dropped: true, Error: "interrupted"}
	switch {
	case in.tool != nil:
		ev.Body = ponder.ToolResult{Name: in.tool.Name, Outcome: o}
	case begun:
		ev.Body = ponder.CallFinished{Model: in.call.Model, Spent: in.held, Outcome: o}
	default:
		ev.Body = ponder.CallFinished{Model: in.call.Model, Outcome: o}
	}
	return ev
}

// use uses a tool.
func (h *holder) useTool(ctx context.Context, c ponder.ToolCall, inherited bool) (r ponder.ToolResult) {
	r = ponder.ToolResult{Name: c.Name}
	tool, ok := h.tools[c.Name]
	r.Untrusted = tool.Untrusted
	switch {
	case !ok:
		r.Error = "no tool named " + c.Name
		return r
	case tool.Once && inherited:
		r.Error = "interrupted: it may have been done, or not"
		return r
	}
	defer func() {
		if p := recover(); p != nil {
			r.Error = fmt.Sprintf("tool %s panicked", c.Name)
			h.Logger.Error("tool panicked", "tool", c.Name, "panic", p)
		}
	}()
	text, err := tool.Do(ctx, c.Args)
	if r.Result = text; len(text) > maxResult {
		r.Result = text[:maxResult]
	}
	if err != nil {
		r.Error, r.Dropped = err.Error(), ctx.Err() != nil
	}
	return r
}
