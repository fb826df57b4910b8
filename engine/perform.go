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

// Bounds on attempts.
const (
	maxResult      = 1 << 20          // bytes of the result of a tool; the rest is dropped
	maxSilence     = 8 * time.Minute  // between two pieces of an answer; adapters allow less
	minSilence     = 30 * time.Second // lower bound for a run that must conclude
	conclusionWait = 2 * time.Second  // the wait of a conclusion after its first failure
	maxAttempts    = 99               // more than any policy allows for one model
	cancelGrace    = 5 * time.Second  // the time for a cancelled attempt to end
)

// startCommitted starts the committed intents that are not in flight.
func (h *holder) startCommitted() {
	for id, in := range h.state.intents {
		if h.attempts[id] == nil && !in.superseded {
			h.startAction(in, nil)
		}
	}
}

// startSpeculative starts the calls of the batch before the batch is in the log. The calls
// prepare their requests while the store writes, and send them when the batch is recorded.
// See docs/design/durable.md.
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

// isRecorded reports whether the store has recorded the batch.
func (a *speculativeCalls) isRecorded() bool {
	select {
	case <-a.recorded:
		return true
	default:
		return false
	}
}

// speculativeCalls are the calls of a batch that started before the batch is in the log.
type speculativeCalls struct {
	calls    []*attempt
	recorded chan struct{} // closed when the requests may be sent
	durable  chan struct{} // closed when their text may be published
	release  func()        // closes recorded, once
}

// startAction performs an intent in a new goroutine. A speculative call waits for the log.
func (h *holder) startAction(in *intent, a *speculativeCalls) *attempt {
	ctx, cancel := context.WithCancelCause(h.ctx)
	id := in.id()
	f := &attempt{cancel: cancel}
	h.attempts[id] = f
	in.startedHere = true
	inherited := in.seq <= h.lease.Head // from an earlier holder
	fails, attempts := in.run.actions[in.key].failures, in.run.actions[in.key].attempts
	run, key, cause, seq, patience, left := in.run.ID, in.key, in.cause, in.seq, in.run.stallTimeout(), in.run.timeLeft(h.elapsed())
	use := ponder.ToolContext{Thread: h.thread, Run: run, Mode: in.run.Mode}
	h.performers.Go(func() {
		defer cancel(nil)
		res := result{id: id, attempt: f}
		if in.tool != nil {
			r := h.useTool(ponder.WithToolContext(ctx, use), *in.tool, inherited || attempts > 1)
			res.tool = &r
		} else {
			r := h.attemptCall(&callAttempt{attempt: f, CallStarted: *in.call, ctx: ctx, stop: cancel, run: run, key: key, failures: fails, stallTimeout: patience, timeLeft: left, attempts: attempts, seq: seq, speculative: a}, cause)
			res.call = &r
		}
		h.postResult(res)
	})
	return f
}

// cancelSpeculative cancels the calls of a batch that was not appended.
func (h *holder) cancelSpeculative(calls []*attempt) {
	for _, f := range calls {
		f.cancel(nil)
	}
	maps.DeleteFunc(h.attempts, func(_ string, f *attempt) bool { return slices.Contains(calls, f) })
}

// stallTimeout returns the longest silence of a call. A run that must conclude waits twice
// as long as its slowest call took.
func (r *run) stallTimeout() time.Duration {
	if !r.budgetNotified && !r.answerNow {
		return maxSilence
	}
	return min(maxSilence-1, max(minSilence, 2*r.slowest))
}

// postResult hands a result to the loop.
func (h *holder) postResult(r result) {
	h.postedMu.Lock()
	h.posted = append(h.posted, r)
	h.postedMu.Unlock()
	select {
	case h.wakeup <- struct{}{}:
	default:
	}
}

// collectResults takes the posted results. It abandons cancelled attempts that do not end.
func (h *holder) collectResults() {
	h.postedMu.Lock()
	posted := h.posted
	h.posted = nil
	h.postedMu.Unlock()
	for _, r := range posted {
		if h.attempts[r.id] == r.attempt {
			delete(h.attempts, r.id)
			h.results = append(h.results, r)
		}
	}
	for id, f := range h.attempts {
		in := h.state.intents[id]
		switch {
		case in == nil: // another process wrote its result
			f.cancel(nil)
			delete(h.attempts, id)
		case !f.cutAt.IsZero() && time.Since(f.cutAt) >= cancelGrace && !in.superseded:
			h.results = append(h.results, result{id: id, call: unendedCut(in)})
			delete(h.attempts, id)
		case !f.cancelledAt.IsZero() && time.Since(f.cancelledAt) >= cancelGrace:
			h.Logger.Warn("a cancelled action has not returned", "thread", h.thread, "action", id)
			delete(h.attempts, id)
			in.supersede()
			in.startedHere = true // the state may be a new one
		}
	}
}

// foldResults folds the results. No result starts a run, so showHistory is not needed.
func (h *holder) foldResults() {
	h.results = slices.DeleteFunc(h.results, func(r result) bool { return h.state.intents[r.id] == nil })
	for _, r := range h.results {
		ev := h.resultEvent(h.state.intents[r.id], r)
		if h.maxBatchBytes > 0 {
			ev = h.sanitizeResult(ev)
		}
		h.foldDecided(ev)
	}
}

// resultEvent returns the event for a result.
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

// markDropped marks the outcome as dropped if the run no longer wants it.
func (in *intent) markDropped(o ponder.Outcome) ponder.Outcome {
	if in.superseded || in.run.ended {
		o.Dropped, o.RetryAt, o.Next, o.NotBefore = true, time.Time{}, "", time.Time{}
	}
	return o
}

// foldUnwanted supersedes the intents that no run wants. For those without an attempt of this
// holder it folds a result that charges the whole held cost, because their outcome is unknown. It
// reports whether it folded a result.
func (h *holder) foldUnwanted(unwanted []*intent) (folded bool) {
	for _, in := range unwanted {
		in.supersede()
	}
	for _, id := range slices.Sorted(maps.Keys(h.state.intents)) {
		in := h.state.intents[id]
		if !in.superseded {
			continue
		}
		if h.attempts[id] == nil && !h.hasResult(id) {
			h.foldDecided(interruptedResult(in, in.seq <= h.lease.Head || in.startedHere))
			folded = true
		}
	}
	return folded
}

// cancelSuperseded cancels the attempts that no run wants. The decision must be in the log,
// because a refused one may have been wrong.
func (h *holder) cancelSuperseded() {
	for id, f := range h.attempts {
		if in := h.state.intents[id]; in != nil && in.superseded && f.cancelledAt.IsZero() {
			f.cancelledAt = time.Now()
			f.cancel(nil)
		}
	}
}

func (h *holder) hasResult(id string) bool {
	for _, r := range h.results {
		if r.id == id {
			return true
		}
	}
	return false
}

// interruptedResult returns the result of an intent whose outcome is unknown. If the
// attempt has started, the result charges the held cost.
func interruptedResult(in *intent, started bool) ponder.Event {
	ev := ponder.Event{Run: in.run.ID, Cause: in.cause, Internal: in.internal}
	o := ponder.Outcome{Dropped: true, Error: "interrupted"}
	switch {
	case in.tool != nil:
		ev.Body = ponder.ToolResult{Name: in.tool.Name, Outcome: o}
	case started:
		ev.Body = ponder.CallFinished{Model: in.call.Model, Spent: in.held, Outcome: o}
	default:
		ev.Body = ponder.CallFinished{Model: in.call.Model, Outcome: o}
	}
	return ev
}

// useTool uses a tool. In doubt, an earlier holder or an interrupted attempt has used it already.
func (h *holder) useTool(ctx context.Context, c ponder.ToolCall, doubt bool) (r ponder.ToolResult) {
	r = ponder.ToolResult{Name: c.Name}
	tool, ok := h.tools[c.Name]
	r.Untrusted = tool.Untrusted
	switch {
	case !ok:
		r.Error = "no tool named " + c.Name
		return r
	case tool.Once && doubt:
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
