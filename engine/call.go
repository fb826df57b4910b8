package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/llm"
)

// An attempted is a call that is being made.
type callAttempt struct {
	ponder.CallStarted
	ctx           context.Context //nolint:containedctx // of this one call, as stop is
	stop          context.CancelCauseFunc
	run           ponder.RunID
	key           string
	failures      int               // attempts before it that failed
	stallTimeout  time.Duration     // in which something has to be said
	timeLeft      time.Duration     // of the time of its run as it begins, if that is limited
	attempts      int               // at the action, this one included
	seq           ponder.Seq        // of its event
	speculative   *speculativeCalls // of the log; nil: it is not
	bytesWritten  int               // bytes that came so far
	bytesReasoned int               // of them, reasoning
	hedged        bool              // it is two requests
}

// call makes an attempt at a call.
func (h *holder) attemptCall(c *callAttempt, cause string) ponder.CallFinished {
	began := time.Now()
	done := ponder.CallFinished{Model: c.Model}
	if c.Request == nil { // another holder's: what it asked is in the ledger
		req, err := h.Store.Request(c.ctx, h.thread, c.run, cause)
		if err != nil || req == nil {
			done.Outcome = ponder.Outcome{Dropped: true, Error: "the request is not in the ledger"}
			done.Spent = c.Held
			return done
		}
		c.Request = req
	}
	req := c.Request
	model, ok := h.models[c.Model]
	var resp *llm.Response
	err := error(&llm.Error{Class: llm.NotFound, Model: c.Model, Message: "is not configured any more"})
	if ok {
		resp, err = h.streamAnswer(c, cause, model)
	}
	var failure *llm.Error
	switch {
	case err == nil:
		done.Message, done.Finish, done.Usage = resp.Message, resp.Finish, resp.Usage
	case errors.As(err, &failure):
		done.Usage = failure.Usage
	}
	read := req.Size()
	switch {
	case err != nil && c.bytesWritten == 0 && done.Usage.Total() == 0 && !maybeBilled(err):
		read = 0
	case done.Usage.Total() == 0 && done.Usage.Cost == nil:
		done.Usage = c.estimateUsage(c.bytesWritten / bytesPerToken)
	}
	held := c.Held
	if c.Request.Hedge && !done.Usage.Hedged { // it was held for two requests, and was one
		held = half(held)
	}
	done.Usage = clampUsage(done.Usage, 2*held.Tokens)
	if failure == nil || !failure.Unsent {
		done.Spent, done.Price = settle(model, held, read, c.bytesWritten, done.Usage)
	}
	done.Took = time.Since(began).Milliseconds()
	if err != nil {
		done.Outcome = h.classifyFailure(c, err, time.Since(began))
		done.Unsent = failure != nil && failure.Unsent
	}
	return done
}

// believed returns usage of which no part is negative, and all parts together are no more
// than the most that is believed: of a larger claim each part counts as much less. What it
// was beyond that is nobody's to know.
func clampUsage(u llm.Usage, most int) llm.Usage {
	parts := []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning}
	for _, n := range parts {
		if *n < 0 || *n > most {
			*n, u.Estimated = max(0, min(*n, most)), true
		}
	}
	if total := u.Total(); total > most {
		for _, n := range parts {
			*n = int(int64(*n) * int64(most) / int64(total))
		}
		u.Estimated = true
	}
	return u
}

// served reports whether a failed request may have been worked on, and so be
// billed, though nothing of an answer came.
func maybeBilled(err error) bool {
	switch llm.ClassOf(err) {
	case llm.Cancelled, llm.Truncated, llm.Malformed:
		return true
	}
	return false
}

// ask makes the request and reads the answer. What goes far beyond what was held
// is cut off, and what is silent for longer than patience, or takes four times
// as long and writes next to nothing.
func (h *holder) streamAnswer(c *callAttempt, cause string, m ponder.Model) (resp *llm.Response, err error) {
	w := c.startStallTimer(m.Name())
	defer w.timer.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = &llm.Error{Class: llm.Malformed, Model: m.Name(), Message: "the adapter panicked"}
			h.Logger.Error("adapter panicked", "model", m.Name(), "panic", p)
		}
	}()
	var text []string
	h.retry.Request()
	for d, err := range c.generate(m) {
		c.hedged = c.hedged || d.Hedged
		if err != nil {
			return nil, c.attributeError(err)
		}
		w.lastPiece.Store(int64(time.Since(w.began)))
		if h.OnDelta != nil && c.isDurable() {
			h.OnDelta(ponder.Delta{
				Thread: h.thread, Run: c.run, Key: c.key, Cause: cause,
				Began: c.seq, Attempt: c.attempts, Offset: c.bytesWritten - c.bytesReasoned, Reasoned: c.bytesReasoned, Delta: d,
			})
		}
		if d.Done != nil {
			c.bytesWritten = max(c.bytesWritten, d.Done.Message.Size())
			return d.Done, nil
		}
		text = append(text, d.Text)
		c.bytesWritten += len(d.Text) + len(d.Reasoning)
		c.bytesReasoned += len(d.Reasoning)
		w.bytesWritten.Store(int64(c.bytesWritten))
		if c.bytesWritten > maxAnswerBytes(c.Request) {
			return &llm.Response{
				Message: llm.Say(llm.Assistant, strings.Join(text, "")), Finish: llm.FinishLength, Model: m.Name(),
				Usage: c.estimateUsage(c.Request.MaxTokens),
			}, nil
		}
	}
	return nil, &llm.Error{Class: llm.Truncated, Model: m.Name(), Message: "the answer broke off"}
}

// guess returns a guess of what the call used that was answered with so many tokens. What
// it has read is what it was taken to have when it was admitted.
func (c *callAttempt) estimateUsage(out int) llm.Usage {
	in := max(0, c.Held.Tokens/requests(c.Request.Hedge)-c.Request.MaxTokens)
	return llm.Usage{Input: in * requests(c.hedged), Output: out, Estimated: true, Hedged: c.hedged}
}

func (c *callAttempt) generate(m ponder.Model) iter.Seq2[llm.Delta, error] {
	if c.speculative == nil {
		return m.Generate(c.ctx, c.Request)
	}
	return llm.Hold(c.ctx, m.Model, c.speculative.recorded, c.Request)
}

// isDurable waits until others may hear what is said, and reports whether they may.
func (c *callAttempt) isDurable() bool {
	if c.speculative == nil {
		return true
	}
	select {
	case <-c.speculative.durable:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// A watch ends a call that is silent, or so slow that it might never end.
type stallTimer struct {
	began        time.Time
	lastPiece    atomic.Int64 // since it began, in nanoseconds
	bytesWritten atomic.Int64 // bytes
	timer        *time.Timer
}

// perByte is how long a model may take to write a byte, once an answer takes long: a
// tenth of the speed of the slowest that is of use. An answer as such may take as long
// as it takes.
const maxTimePerByte = time.Second

// watch begins to watch the call.
func (c *callAttempt) startStallTimer(model string) *stallTimer {
	w := &stallTimer{began: time.Now()}
	late := func(what string, d time.Duration) {
		c.stop(&llm.Error{Class: llm.Transient, Model: model, Message: what + " " + d.Round(time.Second).String()})
	}
	w.timer = time.AfterFunc(maxSilence, func() {
		left := time.Duration(w.lastPiece.Load()) + c.stallTimeout - time.Since(w.began)
		longest := 4*c.stallTimeout - time.Since(w.began)
		if c.stallTimeout == maxSilence { // nothing is to conclude
			longest += time.Duration(w.bytesWritten.Load()) * maxTimePerByte
		}
		switch {
		case left <= 0:
			late("said nothing for", c.stallTimeout)
		case longest <= 0:
			late("wrote too little in", time.Since(w.began))
		default:
			w.timer.Reset(min(left, longest))
		}
	})
	w.timer.Reset(c.stallTimeout) // not before w has it
	return w
}

// late returns why the call was ended, if it was by its watch, or nil.
func (c *callAttempt) stallError() (e *llm.Error) {
	errors.As(context.Cause(c.ctx), &e)
	return e
}

// blamed returns why the call failed: if its watch has ended it, for that, and with what
// the request used until then.
func (c *callAttempt) attributeError(err error) error {
	e := c.stallError()
	if e == nil {
		return err
	}
	late := *e
	if used := (*llm.Error)(nil); errors.As(err, &used) {
		late.Usage = used.Usage
	}
	return &late
}

// back returns to the first of the models that were passed by because they were closed for a
// time, once that is over, now that none behind them has answered: within minutes, and not
// again and again.
func (c *callAttempt) revisitSkipped(passed []ponder.Model, took time.Duration) llm.Decision {
	most := min(maxRevisitWait, c.stallTimeout)
	if c.timeLeft > 0 {
		most = min(most, c.timeLeft-took)
	}
	for i, m := range passed {
		wait, open := llm.Admits(m.Model)
		if !open && wait > 0 && wait <= most && c.attempts < maxRevisits*len(passed) {
			return llm.Decision{Again: true, Wait: wait, Model: i}
		}
	}
	return llm.Decision{}
}

// Bounds on going back in a chain: how long is waited for that, and up to which attempt at
// an action it is done, for each model that was passed by.
const (
	maxRevisitWait = 5 * time.Minute
	maxRevisits    = 8
)

// waitShare is which part of the time that is left may pass in waiting for a model where
// another one can be asked.
const waitShare = 10

// cutoff returns how many bytes an answer to req may have: six for each token
// it may write, which is more than any language takes on the average.
func maxAnswerBytes(req *llm.Request) int { return 6*min(req.MaxTokens, maxCallTokens) + 1024 }

// failed says what to do about an attempt that failed after so long.
func (h *holder) classifyFailure(c *callAttempt, err error, took time.Duration) ponder.Outcome {
	o := ponder.Outcome{Error: err.Error(), Class: llm.ClassOf(err), Dropped: c.ctx.Err() != nil && c.stallError() == nil}
	chain := h.Models[c.Role]
	if o.Dropped || len(chain) == 0 { // nobody is left to ask
		return o
	}
	at := 0
	for i, m := range chain {
		if m.Name() == c.Model {
			at = i
		}
	}
	hint := time.Duration(0)
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		hint = max(0, e.RetryAfter)
	}
	fails, patience := c.failures, c.stallTimeout
	if fails > 0 {
		patience = conclusionWait
	}
	if c.stallTimeout < maxSilence && (hint == 0 || hint > patience) {
		fails = maxAttempts // a conclusion is not tried again as it is, but waits once for who comes back soon
	}
	policy := h.Retry
	if policy == (llm.Policy{}) && c.Role == ponder.Fast {
		policy = llm.FastPolicy()
	}
	pos, chance := llm.Position{Model: at, Chain: len(chain), Fails: fails + 1}, rand.Float64()
	var next llm.Decision
	if firstOpen(chain[at+1:]) < 0 { // the others are closed as well, so it is as if it were the last
		next = policy.Next(err, llm.Position{Model: at, Chain: at + 1, Fails: pos.Fails}, chance)
	} else { // another model is better than to wait for long
		if c.timeLeft > 0 {
			policy.Patience = max(time.Second, min(cmp.Or(policy.Patience, llm.SlowPatience), (c.timeLeft-took)/waitShare))
		}
		if _, open := llm.Admits(chain[at].Model); !open && o.Class != llm.RateLimited {
			pos.Fails = maxAttempts + 1
		}
	}
	if !next.Again {
		next = policy.Next(err, pos, chance)
	}
	if next.Again && next.Model == at && o.Class != llm.RateLimited && hint == 0 && !h.retry.Retry() {
		next = llm.Decision{Again: at+1 < len(chain), Model: at + 1} // enough is tried again as it is
	}
	if !next.Again {
		next = c.revisitSkipped(chain[:at], took)
	}
	if next.Again {
		o.RetryAt, o.Next = time.Now().Add(next.Wait), chain[next.Model].Name()
	} else if hint > 0 && len(chain) == 1 {
		o.NotBefore = time.Now().Add(hint)
	}
	return o
}
