package ponder

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"ponder/llm"
)

// Bounds on what is in flight.
const (
	maxResult  = 1 << 20          // bytes of a tool's result; the rest is cut off
	maxSilence = 8 * time.Minute  // of an attempt, between two pieces of its answer; adapters have less patience
	leastWait  = 30 * time.Second // the same, of a run that is told to conclude
	maxTries   = 99               // more than any policy allows of one model
	graceful   = 5 * time.Second  // in which what was dropped must end
)

// act starts what is committed, wanted and not in flight.
func (h *holder) act() {
	for id, in := range h.line.open {
		if h.flight[id] == nil && !in.late {
			h.begin(in)
		}
	}
}

// begin performs an intent in a goroutine of its own.
func (h *holder) begin(in *intent) {
	ctx, cancel := context.WithCancel(h.ctx)
	id := in.id()
	h.flight[id] = &flight{cancel: cancel}
	in.begun = true
	inherited := in.seq <= h.lease.Head // of a holder that is gone
	fails := in.run.acts[in.key].fails
	run, key, cause, patience := in.run.ID, in.key, in.cause, in.run.patience()
	h.performers.Go(func() {
		defer cancel()
		res := result{id: id}
		if in.tool != nil {
			r := h.use(ctx, *in.tool, inherited)
			res.tool = &r
		} else {
			r := h.call(ctx, *in.call, run, key, cause, fails, patience)
			res.call = &r
		}
		h.post(res)
	})
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
		if h.flight[r.id] != nil {
			delete(h.flight, r.id)
			h.results = append(h.results, r)
		}
	}
	for id, f := range h.flight {
		in := h.line.open[id]
		switch {
		case in == nil: // somebody else wrote its result
			f.cancel()
			delete(h.flight, id)
		case !f.dropped.IsZero() && time.Since(f.dropped) >= graceful:
			h.Logger.Warn("does not end though it was cancelled", "thread", h.thread, "action", id)
			delete(h.flight, id)
		}
	}
}

// settle folds the results.
func (h *holder) settle() {
	h.results = slices.DeleteFunc(h.results, func(r result) bool { return h.line.open[r.id] == nil })
	for _, r := range h.results {
		in := h.line.open[r.id]
		ev := Event{Run: in.run.ID, Cause: in.cause}
		if r.tool != nil {
			b := *r.tool
			b.Outcome = in.outcome(b.Outcome)
			ev.Body = b
		} else {
			b := *r.call
			b.Outcome = in.outcome(b.Outcome)
			ev.Body = b
		}
		h.fold(ev) // its error is that of reading, which the next round meets again
	}
}

// outcome marks what nobody wants any more.
func (in *intent) outcome(o Outcome) Outcome {
	if in.late || in.run.ended {
		o.Dropped, o.RetryAt, o.Next = true, time.Time{}, ""
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
			f.cancel()
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
func lost(in *intent, begun bool) Event {
	ev := Event{Run: in.run.ID, Cause: in.cause}
	o := Outcome{Dropped: true, Error: "interrupted"}
	switch {
	case in.tool != nil:
		ev.Body = ToolResult{Name: in.tool.Name, Outcome: o}
	case begun:
		ev.Body = CallFinished{Model: in.call.Model, Spent: in.held, Outcome: o}
	default:
		ev.Body = CallFinished{Model: in.call.Model, Outcome: o}
	}
	return ev
}

// use uses a tool.
func (h *holder) use(ctx context.Context, c ToolCall, inherited bool) (r ToolResult) {
	r = ToolResult{Name: c.Name}
	tool, ok := h.tools[c.Name]
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

// call makes an attempt at a call.
func (h *holder) call(ctx context.Context, c CallStarted, run RunID, key, cause string, fails int, patience time.Duration) CallFinished {
	began := time.Now()
	done := CallFinished{Model: c.Model}
	req := c.Request
	if req == nil { // another holder's: what it asked is in the ledger
		var err error
		if req, err = h.Store.Request(ctx, h.thread, run, cause); err != nil || req == nil {
			done.Outcome = Outcome{Dropped: true, Error: "the request is not in the ledger"}
			done.Spent = c.Held
			return done
		}
	}
	model, ok := h.models[c.Model]
	var resp *llm.Response
	var wrote int
	err := error(&llm.Error{Class: llm.NotFound, Model: c.Model, Message: "is not configured any more"})
	if ok {
		resp, wrote, err = h.ask(ctx, model, req, run, key, patience)
	}
	var failure *llm.Error
	switch {
	case err == nil:
		done.Message, done.Finish, done.Usage = resp.Message, resp.Finish, resp.Usage
		h.guess.Learn(model.Name(), req.Size(), resp.Usage)
	case errors.As(err, &failure):
		done.Usage = failure.Usage
	}
	read := req.Size()
	switch {
	case err != nil && wrote == 0 && done.Usage.Total() == 0 && !served(err):
		read = 0
	case done.Usage.Total() == 0 && done.Usage.Cost == nil:
		done.Usage = llm.Usage{Input: model.tokensIn(req), Output: wrote / bytesPerToken, Estimated: true}
	}
	done.Usage = believed(done.Usage, 2*c.Held.Tokens)
	done.Spent, done.Price = model.settle(c.Held, read, wrote, done.Usage)
	done.Took = time.Since(began).Milliseconds()
	if err != nil {
		done.Outcome = h.failed(ctx, c, err, fails, patience)
	}
	return done
}

// believed returns usage of which no part is negative or more than the most that
// is believed; what a claim was beyond that is nobody's to know.
func believed(u llm.Usage, most int) llm.Usage {
	for _, n := range []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning} {
		if *n < 0 || *n > most {
			*n, u.Estimated = max(0, min(*n, most)), true
		}
	}
	return u
}

// served reports whether a failed request may have been worked on, and so be
// billed, though nothing of an answer came.
func served(err error) bool {
	switch llm.ClassOf(err) {
	case llm.Cancelled, llm.Truncated, llm.Malformed:
		return true
	}
	return false
}

// ask makes the request and reads the answer. It returns the bytes that were
// written, too. What goes far beyond what was held is cut off, and what is
// silent for longer than patience, or takes four times as long.
func (h *holder) ask(ctx context.Context, m Model, req *llm.Request, run RunID, key string, patience time.Duration) (resp *llm.Response, wrote int, err error) {
	late := func(what string, d time.Duration) error {
		return &llm.Error{Class: llm.Transient, Model: m.Name(), Message: what + " " + d.Round(time.Second).String()}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 4*patience, late("took longer than", 4*patience))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	silent := time.AfterFunc(patience, func() { stop(late("said nothing for", patience)) })
	defer silent.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = &llm.Error{Class: llm.Malformed, Model: m.Name(), Message: "the adapter panicked"}
			h.Logger.Error("adapter panicked", "model", m.Name(), "panic", p)
		}
	}()
	var text []byte
	h.retry.Request()
	for d, err := range m.Generate(ctx, req) {
		if err != nil {
			if cause := (*llm.Error)(nil); errors.As(context.Cause(ctx), &cause) {
				err = cause
			}
			return nil, wrote, err
		}
		silent.Reset(patience)
		if h.OnDelta != nil {
			h.OnDelta(Delta{h.thread, run, key, d})
		}
		if d.Done != nil {
			return d.Done, max(wrote, d.Done.Message.Size()), nil
		}
		text = append(text, d.Text...)
		if wrote += len(d.Text) + len(d.Reasoning); wrote > cutoff(req) {
			return &llm.Response{
				Message: llm.Say(llm.Assistant, string(text)), Finish: llm.FinishLength, Model: m.Name(),
				Usage: llm.Usage{Input: m.tokensIn(req), Output: req.MaxTokens, Estimated: true},
			}, wrote, nil
		}
	}
	return nil, wrote, &llm.Error{Class: llm.Truncated, Model: m.Name(), Message: "the answer broke off"}
}

// cutoff returns how many bytes an answer to req may have: six for each token
// it may write, which is more than any language takes on the average.
func cutoff(req *llm.Request) int { return 6*req.MaxTokens + 1024 }

// failed says what to do about a failed attempt.
func (h *holder) failed(ctx context.Context, c CallStarted, err error, fails int, patience time.Duration) Outcome {
	o := Outcome{Error: err.Error(), Class: llm.ClassOf(err), Dropped: ctx.Err() != nil}
	if o.Dropped {
		return o
	}
	chain := h.Models[c.Role]
	at := 0
	for i, m := range chain {
		if m.Name() == c.Model {
			at = i
		}
	}
	if patience < maxSilence {
		fails = maxTries // a conclusion is not tried again as it is
	}
	next := h.Retry.Next(err, llm.Position{Model: at, Chain: len(chain), Fails: fails + 1}, rand.Float64())
	if next.Again && next.Model == at && o.Class != llm.RateLimited && !h.retry.Retry() {
		next = llm.Decision{Again: at+1 < len(chain), Model: at + 1} // enough is tried again as it is
	}
	if next.Again {
		o.RetryAt, o.Next = time.Now().Add(next.Wait), chain[next.Model].Name()
	}
	return o
}
