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
	maxResult  = 1 << 20          // bytes of a tool's result; the rest is cut off
	maxSilence = 8 * time.Minute  // of an attempt, between two pieces of its answer; adapters have less patience
	leastWait  = 30 * time.Second // the same, of a run that is told to conclude
	briefly    = 2 * time.Second  // that a conclusion waits more than once, while another finds out
	maxTries   = 99               // more than any policy allows of one model
	graceful   = 5 * time.Second  // in which what was dropped must end
)

// act starts what is committed, wanted and not in flight.
func (h *holder) act() {
	for id, in := range h.line.open {
		if h.flight[id] == nil && !in.late {
			h.begin(in, nil)
		}
	}
}

// ahead begins the calls that are not in the log yet. They are held back until they are
// recorded, so that all they need is there when they may be made, and may be made while the
// disk is waited for. See docs/design/durable.md.
func (h *holder) ahead() *ahead {
	a := &ahead{recorded: make(chan struct{}), durable: make(chan struct{})}
	a.release = sync.OnceFunc(func() { close(a.recorded) })
	for _, in := range h.line.open {
		if in.seq > h.committed && in.call != nil && !in.late && !h.leaving {
			a.calls = append(a.calls, h.begin(in, a))
		}
	}
	return a
}

// isRecorded reports whether a store has said so.
func (a *ahead) isRecorded() bool {
	select {
	case <-a.recorded:
		return true
	default:
		return false
	}
}

// An ahead is calls that are begun before they are in the log.
type ahead struct {
	calls    []*flight
	recorded chan struct{} // closed when they may be made
	durable  chan struct{} // closed when others may hear what they say
	release  func()        // closes recorded, if it is not
}

// begin performs an intent in a goroutine of its own; what is ahead waits for the log.
func (h *holder) begin(in *intent, a *ahead) *flight {
	ctx, cancel := context.WithCancelCause(h.ctx)
	id := in.id()
	f := &flight{cancel: cancel}
	h.flight[id] = f
	in.begun = true
	inherited := in.seq <= h.lease.Head // of a holder that is gone
	fails, attempts := in.run.acts[in.key].fails, in.run.acts[in.key].attempts
	run, key, cause, seq, patience, left := in.run.ID, in.key, in.cause, in.seq, in.run.patience(), in.run.left(h.elapsed())
	use := ponder.ToolContext{Thread: h.thread, Run: run, Mode: in.run.Mode}
	h.performers.Go(func() {
		defer cancel(nil)
		res := result{id: id, of: f}
		if in.tool != nil {
			r := h.use(ponder.WithToolContext(ctx, use), *in.tool, inherited)
			res.tool = &r
		} else {
			r := h.call(&attempted{CallStarted: *in.call, ctx: ctx, stop: cancel, run: run, key: key, fails: fails, patience: patience, left: left, attempts: attempts, seq: seq, ahead: a}, cause)
			res.call = &r
		}
		h.post(res)
	})
	return f
}

// forget ends calls that were begun ahead of an append that failed.
func (h *holder) forget(calls []*flight) {
	for _, f := range calls {
		f.cancel(nil)
	}
	maps.DeleteFunc(h.flight, func(_ string, f *flight) bool { return slices.Contains(calls, f) })
}

// patience returns how long a call of the run may be silent. A run that is to
// conclude waits twice as long as its slowest call took, and falls back on
// what it has then.
func (r *run) patience() time.Duration {
	if !r.told && !r.hurried {
		return maxSilence
	}
	return min(maxSilence-1, max(leastWait, 2*r.slowest))
}

// post puts a result into the mail.
func (h *holder) post(r result) {
	h.mailMu.Lock()
	h.mail = append(h.mail, r)
	h.mailMu.Unlock()
	select {
	case h.ring <- struct{}{}:
	default:
	}
}

// collect takes the mail. What is late ends here if it does not end by itself.
func (h *holder) collect() {
	h.mailMu.Lock()
	mail := h.mail
	h.mail = nil
	h.mailMu.Unlock()
	for _, r := range mail {
		if h.flight[r.id] == r.of {
			delete(h.flight, r.id)
			h.results = append(h.results, r)
		}
	}
	for id, f := range h.flight {
		in := h.line.open[id]
		switch {
		case in == nil: // somebody else wrote its result
			f.cancel(nil)
			delete(h.flight, id)
		case !f.dropped.IsZero() && time.Since(f.dropped) >= graceful:
			h.Logger.Warn("does not end though it was cancelled", "thread", h.thread, "action", id)
			delete(h.flight, id)
		}
	}
}

// settle folds the results. None starts a run that is to be shown the history.
func (h *holder) settle() {
	h.results = slices.DeleteFunc(h.results, func(r result) bool { return h.line.open[r.id] == nil })
	for _, r := range h.results {
		ev := h.event(h.line.open[r.id], r)
		if h.most > 0 {
			ev = h.sound(ev)
		}
		h.fold(ev)
	}
}

// event returns the event of what an attempt came to.
func (h *holder) event(in *intent, r result) ponder.Event {
	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.inner}
	if r.tool != nil {
		b := *r.tool
		b.Outcome = in.outcome(b.Outcome)
		ev.Body = b
		return ev
	}
	b := *r.call
	b.Message = h.redacted(in.run.mode, b.Message)
	b.Outcome = in.outcome(b.Outcome)
	ev.Body = b
	return ev
}

// outcome marks what nobody wants any more.
func (in *intent) outcome(o ponder.Outcome) ponder.Outcome {
	if in.late || in.run.ended {
		o.Dropped, o.RetryAt, o.Next, o.NotBefore = true, time.Time{}, "", time.Time{}
	}
	return o
}

// drop ends what is not wanted: what this holder performs is cancelled and ends
// by itself; of what another left nobody knows, so it is charged all that was
// held. It reports whether anything was folded.
func (h *holder) drop(unwanted []*intent) (folded bool) {
	for _, in := range unwanted {
		in.late = true
		in.run.acts[in.key].now = nil
	}
	for id, in := range h.line.open {
		if !in.late {
			continue
		}
		f := h.flight[id]
		switch {
		case f == nil && !h.has(id):
			h.fold(lost(in, in.seq <= h.lease.Head || in.begun))
			folded = true
		case f != nil && f.dropped.IsZero():
			f.dropped = time.Now()
			f.cancel(nil)
		}
	}
	return folded
}

// has reports whether a result waits to be folded.
func (h *holder) has(id string) bool {
	for _, r := range h.results {
		if r.id == id {
			return true
		}
	}
	return false
}

// lost returns the result of an intent of which nobody knows what became, if it
// has begun at all.
func lost(in *intent, begun bool) ponder.Event {
	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.inner}
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
func (h *holder) use(ctx context.Context, c ponder.ToolCall, inherited bool) (r ponder.ToolResult) {
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
