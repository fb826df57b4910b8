package engine

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/llm"
)

// A callAttempt is one attempt at a call to a model.
type callAttempt struct {
	ponder.CallStarted
	attempt       *attempt
	ctx           context.Context //nolint:containedctx // ends with this call
	stop          context.CancelCauseFunc
	run           ponder.RunID
	key           string
	failures      int               // failed attempts before this one
	stallTimeout  time.Duration     // the longest silence
	timeLeft      time.Duration     // of the run at the start of the call; zero: no limit
	attempts      int               // at the action, including this one
	seq           ponder.Seq        // of its CallStarted
	speculative   *speculativeCalls // nil if the call is committed
	bytesWritten  int               // received so far
	bytesReasoned int               // of which reasoning
	firstOutput   time.Duration     // until the first piece
	hedged        bool              // the call is two requests
}

// attemptCall makes one attempt at a call.
func (h *holder) attemptCall(c *callAttempt, cause string) ponder.CallFinished {
	began := time.Now()
	done := ponder.CallFinished{Model: c.Model}
	if c.Request == nil { // an earlier holder built it: the ledger has it
		req, err := h.Store.Request(c.ctx, h.thread, c.run, cause)
		if err != nil || req == nil {
			done.Outcome = ponder.Outcome{Dropped: true, Error: "the request is not in the ledger"}
			done.Spent = c.Reserved
			return done
		}
		c.Request = req
	}
	req := c.Request
	model, ok := h.models[c.Model]
	var resp *llm.Response
	err := error(&llm.Error{Class: llm.NotFound, Model: c.Model, Message: "no longer configured"})
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
	held := c.Reserved
	if c.Request.Hedge && !done.Usage.Hedged { // the held cost covers two requests, but one was sent
		held = halfCost(held)
	}
	done.Usage = clampUsage(done.Usage, 2*held.Tokens)
	if failure == nil || !failure.Unsent {
		done.Spent, done.Price = settle(model, held, read, c.bytesWritten, done.Usage)
	}
	done.Took, done.First = time.Since(began).Milliseconds(), c.firstOutput.Milliseconds()
	if err != nil {
		done.Outcome = h.classifyFailure(c, err, time.Since(began))
		done.Unsent = failure != nil && failure.Unsent
	}
	return done
}

// clampUsage returns usage without negative parts and with a total of at most limit. It
// scales the parts of a larger claim and marks it Estimated.
func clampUsage(u llm.Usage, limit int) llm.Usage {
	parts := []*int{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning}
	for _, n := range parts {
		if *n < 0 || *n > limit {
			*n, u.Estimated = max(0, min(*n, limit)), true
		}
	}
	if total := u.Total(); total > limit {
		for _, n := range parts {
			*n = int(int64(*n) * int64(limit) / int64(total))
		}
		u.Estimated = true
	}
	return u
}

// maybeBilled reports whether the provider may bill a failed request without an answer.
func maybeBilled(err error) bool {
	switch llm.ClassOf(err) {
	case llm.Cancelled, llm.Truncated, llm.Malformed:
		return true
	}
	return false
}

// streamAnswer sends the request and reads the answer. It ends an answer where [answerReader]
// says so, and a stallTimer ends a stalled one.
func (h *holder) streamAnswer(c *callAttempt, cause string, m ponder.Model) (resp *llm.Response, err error) {
	w := c.startStallTimer(m.Name())
	defer w.timer.Stop()
	if c.stallTimeout == maxSilence { // the run does not conclude
		c.ctx = llm.WithWaitNotice(c.ctx, w.noteWait)
	}
	t := c.startLingerTimer()
	defer t.timer.Stop()
	defer func() {
		if p := recover(); p != nil {
			err = &llm.Error{Class: llm.Malformed, Model: m.Name(), Message: "the adapter panicked"}
			h.Logger.Error("adapter panicked", "model", m.Name(), "panic", p)
		}
	}()
	publish := func(d llm.Delta) {
		if h.OnDelta != nil && c.isDurable() {
			h.OnDelta(ponder.Delta{
				Thread: h.thread, Run: c.run, Key: c.key, Cause: cause,
				Began: c.seq, Attempt: c.attempts, Offset: c.bytesWritten - c.bytesReasoned, Reasoned: c.bytesReasoned, Delta: d,
			})
		}
	}
	a := newAnswerReader(c.Request)
	defer a.releaseDetectors()
	end := func(f llm.Finish, used llm.Usage) (*llm.Response, error) {
		resp := &llm.Response{Message: a.message(), Finish: f, Model: m.Name(), Usage: used}
		if used.Total() == 0 {
			resp.Usage = c.estimateUsage(c.bytesWritten / bytesPerToken)
		}
		publish(llm.Delta{Done: resp})
		return resp, nil
	}
	h.retry.Request()
	for d, err := range c.startGenerate(m) {
		c.hedged = c.hedged || d.Hedged
		if err != nil {
			switch {
			case c.isAllRead(), c.isCut() && a.isComplete():
				return end(llm.FinishStop, llm.UsageOf(err))
			case c.isCut():
				return end(llm.FinishTime, llm.UsageOf(err))
			}
			return nil, c.attributeError(err)
		}
		c.firstOutput = cmp.Or(c.firstOutput, time.Since(w.began))
		w.lastPiece.Store(int64(time.Since(w.began)))
		publish(d)
		if d.Done != nil {
			c.bytesWritten = max(c.bytesWritten, d.Done.Message.Size())
			return d.Done, nil
		}
		c.bytesWritten += len(d.Text) + len(d.Reasoning)
		c.bytesReasoned += len(d.Reasoning)
		w.bytesWritten.Store(int64(c.bytesWritten))
		c.attempt.written.Add(int64(len(d.Text)))
		if f := a.add(d); f != "" {
			return end(f, llm.Usage{})
		}
		t.setComplete(a.isComplete())
		if c.bytesWritten > maxAnswerBytes(c.Request) {
			return end(llm.FinishLength, c.estimateUsage(c.Request.MaxTokens))
		}
	}
	return nil, &llm.Error{Class: llm.Truncated, Model: m.Name(), Message: "the answer broke off"}
}

// estimateUsage returns the estimated usage of a call that wrote out tokens. It takes the
// input tokens from the admission of the call.
func (c *callAttempt) estimateUsage(out int) llm.Usage {
	in := max(0, c.Reserved.Tokens/requestCount(c.Request.Hedge)-c.Request.MaxTokens)
	return llm.Usage{Input: in * requestCount(c.hedged), Output: out, Estimated: true, Hedged: c.hedged}
}

func (c *callAttempt) startGenerate(m ponder.Model) iter.Seq2[llm.Delta, error] {
	if c.speculative == nil {
		return m.Generate(c.ctx, c.Request)
	}
	return llm.Prepare(c.ctx, m.Model, c.speculative.recorded, c.Request)
}

// isDurable waits until the text of the call may be published, and reports whether it may.
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

// A stallTimer ends a call that sends nothing for too long, or sends too slowly.
type stallTimer struct {
	began        time.Time
	lastPiece    atomic.Int64 // nanoseconds after began
	bytesWritten atomic.Int64
	waited       atomic.Int64 // nanoseconds in queues of this process
	waitBegan    time.Time
	timer        *time.Timer
}

// noteWait stops the timer while a call waits for its turn to be sent.
func (w *stallTimer) noteWait(waits bool) {
	if waits {
		w.waitBegan = time.Now()
		w.timer.Stop()
		return
	}
	w.waited.Add(int64(time.Since(w.waitBegan)))
	w.lastPiece.Store(int64(time.Since(w.began)))
	w.timer.Reset(maxSilence)
}

// maxTimePerByte limits the time of a long answer by its length. It is ten times the time of
// the slowest useful model. The total time of an answer has no limit.
const maxTimePerByte = time.Second

func (c *callAttempt) startStallTimer(model string) *stallTimer {
	w := &stallTimer{began: time.Now()}
	stop := func(what string, d time.Duration) {
		c.stop(&llm.Error{Class: llm.Transient, Model: model, Message: what + " " + d.Round(time.Second).String()})
	}
	w.timer = time.AfterFunc(maxSilence, func() {
		left := time.Duration(w.lastPiece.Load()) + c.stallTimeout - time.Since(w.began)
		longest := 4*c.stallTimeout + time.Duration(w.waited.Load()) - time.Since(w.began)
		if c.stallTimeout == maxSilence { // the run does not conclude
			longest += time.Duration(w.bytesWritten.Load()) * maxTimePerByte
		}
		switch {
		case left <= 0:
			stop("sent no output for", c.stallTimeout)
		case longest <= 0:
			stop("sent too little output in", time.Since(w.began))
		default:
			w.timer.Reset(min(left, longest))
		}
	})
	w.timer.Reset(c.stallTimeout) // not before w has it
	return w
}

// stallError returns the error with which the stallTimer ended the call, or nil.
func (c *callAttempt) stallError() (e *llm.Error) {
	errors.As(context.Cause(c.ctx), &e)
	return e
}

// attributeError returns the cause of a failed call. If the stallTimer ended the call, the
// cause is its error with the usage of err.
func (c *callAttempt) attributeError(err error) error {
	e := c.stallError()
	if e == nil {
		return err
	}
	stalled := *e
	if used := (*llm.Error)(nil); errors.As(err, &used) {
		stalled.Usage = used.Usage
	}
	return &stalled
}

// revisitSkipped decides to wait for the first skipped model that opens soon, after the
// later models of the chain failed.
func (c *callAttempt) revisitSkipped(skipped []ponder.Model, took time.Duration) llm.Decision {
	maxWait := min(maxRevisitWait, c.stallTimeout)
	if c.timeLeft > 0 {
		maxWait = min(maxWait, c.timeLeft-took)
	}
	for i, m := range skipped {
		wait, open := llm.Available(m.Model)
		if !open && wait > 0 && wait <= maxWait && c.attempts < maxRevisits*len(skipped) {
			return llm.Decision{Retry: true, Wait: wait, Model: i}
		}
	}
	return llm.Decision{}
}

// Bounds on revisiting skipped models: the wait, and the attempts per skipped model.
const (
	maxRevisitWait = 5 * time.Minute
	maxRevisits    = 8
)

// waitShare is the divisor for the part of the remaining time that a call may wait for a
// model while another model is available.
const waitShare = 10

// maxAnswerBytes returns the limit for the bytes of an answer to req. Six bytes per token are
// more than the average of any language.
func maxAnswerBytes(req *llm.Request) int { return 6*min(req.MaxTokens, maxCallTokens) + 1024 }

// classifyFailure returns the outcome of a failed attempt: the retry, the next model, or the end.
func (h *holder) classifyFailure(c *callAttempt, err error, took time.Duration) ponder.Outcome {
	o := ponder.Outcome{Error: err.Error(), Class: llm.ClassOf(err), Dropped: c.ctx.Err() != nil && c.stallError() == nil}
	chain := h.Models[c.Role]
	if o.Dropped || len(chain) == 0 { // no model is left
		return o
	}
	at := 0
	for i, m := range chain {
		if m.Name() == c.Model {
			at = i
		}
	}
	hint, room := time.Duration(0), 0
	if e := (*llm.Error)(nil); errors.As(err, &e) {
		hint, room = max(0, e.RetryAfter), e.Room
	}
	fails, patience := c.failures, c.stallTimeout
	if fails > 0 {
		patience = conclusionWait
	}
	if c.stallTimeout < maxSilence && (hint == 0 || hint > patience) {
		fails = maxAttempts // a conclusion waits once for a model that opens soon, and is not retried otherwise
	}
	if o.Class == llm.RateLimited && c.Request != nil && c.Request.ReportLimit {
		fails = maxAttempts
	}
	policy := h.Retry
	if policy == (llm.Policy{}) && c.Role == ponder.Fast {
		policy = llm.FastPolicy()
	}
	pos, chance := llm.Position{Model: at, Chain: len(chain), Fails: fails + 1}, rand.Float64()
	var next llm.Decision
	if firstOpen(chain[at+1:]) < 0 { // the later models are closed too, so this model counts as the last
		next = policy.Next(err, llm.Position{Model: at, Chain: at + 1, Fails: pos.Fails}, chance)
	} else { // prefer another model to a long wait
		if c.timeLeft > 0 {
			policy.Patience = max(time.Second, min(cmp.Or(policy.Patience, llm.SlowPatience), (c.timeLeft-took)/waitShare))
		}
		if _, open := llm.Available(chain[at].Model); !open && o.Class != llm.RateLimited {
			pos.Fails = maxAttempts + 1
		}
	}
	if !next.Retry {
		next = policy.Next(err, pos, chance)
	}
	if next.Retry && next.Model == at && o.Class != llm.RateLimited && hint == 0 && !h.retry.Retry() {
		next = llm.Decision{Retry: at+1 < len(chain), Model: at + 1} // the retry budget is spent
	}
	if !next.Retry {
		next = c.revisitSkipped(chain[:at], took)
	}
	if concluding := c.stallTimeout < maxSilence; concluding && c.timeLeft > 0 && took+next.Wait >= c.timeLeft {
		next = llm.Decision{}
	}
	if next.Retry {
		o.RetryAt, o.Next = h.Now().Add(next.Wait), chain[next.Model].Name()
		return o
	}
	if hint > 0 && len(chain) == 1 {
		o.NotBefore = h.Now().Add(hint)
	}
	o.Room = room
	return o
}
