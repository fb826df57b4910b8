package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync/atomic"
	"time"
)

// A TokenCounter is a [Model] that counts a request's tokens at no cost.
type TokenCounter interface {
	// CountTokens returns the tokens that the model would read. It has the errors of
	// Generate.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// A WindowLister is a [Model] whose server lists its context.
type WindowLister interface {
	// ListedContext returns the tokens of request and answer, or zero if unknown.
	ListedContext() int
}

const (
	fitMargin    = 5.0 / 4 // the estimate's error factor
	minFitAnswer = 256     // smallest useful answer
	maxFitAnswer = 1024    // largest answer for which a request must leave room
	fitTime      = 5 * time.Second
	maxRefits    = 2 // requests after a refusal that names a limit
)

// FitWindow limits m to the context that w knows or the server lists, request and answer together. If
// the estimate is near the limit, FitWindow counts the request. It cuts MaxTokens to the room left,
// or fails unsent with class TooLong. Without a counter, the estimate decides. If the model refuses a
// request and names a limit, FitWindow repeats the request with a limit that fits, if there is one.
//
// FitWindow remembers in w that a model repeated itself in a structured answer. It then discourages
// repetition in such answers. Prose needs its small words again and again, so it does not.
//
// FitWindow remembers in w what a refusal says or implies. Every few minutes one request tests a
// context that only a refusal named. Each error of class TooLong has a
// [Error].Room, so that the caller can shorten the request. counter and lister may be nil.
//
// The provider judges requests that cannot be counted in time, and verbatim ones. FitWindow counts
// once, and only after the release; see [Preparer].
func FitWindow(m Model, counter TokenCounter, lister WindowLister, w *Windows) Model {
	w.addLister(m.Name(), lister)
	return &fittedModel{Model: m, counter: counter, windows: w}
}

type fittedModel struct {
	Model
	counter     TokenCounter // or nil
	windows     *Windows
	cannotCount atomic.Bool // the provider cannot count
}

func (m *fittedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return m.generateFitted(ctx, nil, req)
}

func (m *fittedModel) Available() (time.Duration, bool) { return Available(m.Model) }

// Prepare implements [Preparer]. It prepares a request that needs a count only at its release.
func (m *fittedModel) Prepare(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	if m.needsCount(req) {
		return Prepare(ctx, struct{ Model }{m}, released, req)
	}
	return m.generateFitted(ctx, released, req)
}

func (m *fittedModel) generateFitted(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		req, err := m.fitRequest(ctx, req)
		if err != nil {
			yield(Delta{}, err)
			return
		}
		for refits := 0; req != nil; refits++ {
			watch := m.watchRepetition(&req)
			stream := m.Model.Generate(ctx, req)
			if released != nil && refits == 0 {
				stream = Prepare(ctx, m.Model, released, req)
			}
			var again *Request
			started := false
			for d, err := range stream {
				if err != nil && !started {
					tokens := m.learnRefusal(req, err)
					if again = m.refitRequest(req, err, tokens); again != nil && refits < maxRefits {
						break
					}
					again, err = nil, m.withRoom(req, err, tokens)
				}
				started = true
				watch.add(d.Text)
				if d.Done != nil {
					m.windows.estimator.Learn(m.Name(), req.Size(), d.Done.Usage)
					m.windows.noteAccepted(m.Name(), d.Done.Usage.Input)
				}
				if !yield(d, err) {
					return
				}
			}
			req = again
		}
	}
}

func (m *fittedModel) context() int { return m.windows.Lookup(m.Name()).Context }

func (m *fittedModel) estimate(req *Request) float64 {
	return float64(m.windows.estimator.Tokens(m.Name(), req.Size()))
}

// needsCount reports whether fitting requires a count.
func (m *fittedModel) needsCount(req *Request) bool {
	context := float64(m.context())
	if m.counter == nil || context == 0 || m.cannotCount.Load() {
		return false
	}
	guess := m.estimate(req)
	return guess*fitMargin > context-float64(max(req.MaxTokens, minFitAnswer)) && guess < context*fitMargin
}

func (m *fittedModel) fitRequest(ctx context.Context, req *Request) (*Request, error) {
	if output := m.windows.Lookup(m.Name()).Output; output > 0 {
		req = limitAnswer(req, output)
	}
	context := m.context()
	switch {
	case m.needsCount(req):
	case m.counter == nil && context > 0:
		return m.fitEstimate(req, context)
	default:
		return req, nil
	}
	n, err := m.countTokens(ctx, req)
	if err != nil {
		return req, nil //nolint:nilerr // what fails is seen when it is sent
	}
	minAnswer := minFitAnswer
	if req.MaxTokens > 0 {
		minAnswer = min(minAnswer, req.MaxTokens)
	}
	if context-n < minAnswer {
		if m.windows.startTest(m.Name(), time.Now()) {
			return req, nil
		}
		return nil, m.notSent(req, n, context)
	}
	return limitAnswer(req, context-n), nil
}

// fitEstimate limits the answer to the room that the estimate leaves. It refuses a request that leaves
// too little, unless it is verbatim.
func (m *fittedModel) fitEstimate(req *Request, context int) (*Request, error) {
	guess, minAnswer := m.estimate(req), minAnswer(req, context)
	if context-int(guess) < minAnswer && !req.Verbatim {
		if m.windows.startTest(m.Name(), time.Now()) {
			return req, nil
		}
		return nil, m.notSent(req, int(guess), context)
	}
	return limitAnswer(req, max(context-int(guess*fitMargin), minAnswer)), nil
}

func (m *fittedModel) notSent(req *Request, tokens, context int) error {
	return &Error{Class: TooLong, Model: m.Name(), Limits: Limits{Context: context, Prompt: tokens}, Room: m.roomFor(req, tokens, context), Unsent: true,
		Message: fmt.Sprintf("not sent: the request has %d tokens, and the context of the model has %d", tokens, context), Advice: TooLongAdvice}
}

// minAnswer returns the least tokens of an answer for which a request must leave room.
func minAnswer(req *Request, context int) int {
	n := min(max(context/answerShare, minFitAnswer), maxFitAnswer)
	if req.MaxTokens > 0 {
		n = min(n, req.MaxTokens)
	}
	return n
}

func (m *fittedModel) countTokens(ctx context.Context, req *Request) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, fitTime)
	defer cancel()
	n, err := m.counter.CountTokens(ctx, req)
	if err != nil {
		if c := ClassOf(err); c == NotFound || c == BadRequest || c == Malformed {
			m.cannotCount.Store(true)
		}
		return 0, err
	}
	m.windows.estimator.Learn(m.Name(), req.Size(), Usage{Input: n})
	return n, nil
}

// limitAnswer returns the request with at most so many tokens of answer.
func limitAnswer(req *Request, tokens int) *Request {
	if req.MaxTokens <= tokens {
		return req
	}
	cut := *req
	cut.MaxTokens = tokens
	return &cut
}

// learnRefusal remembers the limits that a refusal names, and returns the tokens of the refused prompt.
// A refusal that names no context implies that the context is smaller than the prompt.
func (m *fittedModel) learnRefusal(req *Request, err error) (tokens int) {
	var e *Error
	if !errors.As(err, &e) || e.Class != TooLong && e.Class != BadRequest {
		return 0
	}
	tokens = m.promptTokens(req, e.Limits)
	if e.Unsent {
		return tokens
	}
	l := e.Limits
	if e.Class == TooLong && e.Limits.Context == 0 && l.Output == 0 && e.Status != http.StatusRequestEntityTooLarge {
		l.Context = impliedContext(int(m.estimate(req)), l.Excess, m.context())
	}
	m.windows.Learn(m.Name(), l)
	return tokens
}

// impliedContext returns the likely context of a model that refused a prompt. excess is how much too
// long the prompt is, or zero; known is the context known so far, or zero.
func impliedContext(prompt, excess, known int) int {
	if known > 0 && known < prompt {
		return 0
	}
	most := prompt + prompt/10 // the error of the estimate
	if excess > 0 {
		most = max(prompt-excess, prompt/10)
	}
	if most < minContext { // no context is so small
		return 0
	}
	size := minContext
	for next := size; next <= most; next *= 2 {
		if size = next; next+next/2 <= most {
			size = next + next/2
		}
	}
	return size
}

// minContext is the smallest context of a model in use.
const minContext = 512

// withRoom returns err with the room for a request that the model would accept.
func (m *fittedModel) withRoom(req *Request, err error, tokens int) error {
	var e *Error
	if !errors.As(err, &e) || e.Class != TooLong {
		return err
	}
	told := *e
	told.Room = m.roomFor(req, tokens, m.context())
	return &told
}

// Divisors of a context for the answer: the least, and that of a shortened request.
const (
	answerShare = 6
	roomShare   = 4
)

// roomFor returns the bytes of a request that leaves room for its answer, less than those of req, which
// has so many tokens. Without a known context it is three quarters of req.
func (m *fittedModel) roomFor(req *Request, tokens, context int) int {
	size := req.Size()
	most := size * 3 / 4
	if context <= 0 || tokens <= 0 || size <= 0 {
		return most
	}
	answer := context / roomShare
	if req.MaxTokens > 0 {
		answer = min(answer, req.MaxTokens)
	}
	room := int(float64(context-answer) * float64(size) / float64(tokens) * 0.95)
	if room >= size { // the estimate is wrong
		return most
	}
	return room
}

// refitRequest returns a request that fits the limits that a refusal names, or nil. prompt is in tokens.
func (m *fittedModel) refitRequest(req *Request, err error, prompt int) *Request {
	var e *Error
	if !errors.As(err, &e) || e.Class != TooLong && e.Class != BadRequest || e.Limits == (Limits{}) {
		return nil
	}
	tokens, least := req.MaxTokens, minFitAnswer
	if output := e.Limits.Output; output > 0 && (tokens == 0 || tokens > output) {
		tokens = output
	}
	if context := e.Limits.Context; context > 0 {
		least = minAnswer(req, context)
		if room := context - prompt; tokens == 0 || tokens > room {
			tokens = room
		}
	}
	if req.MaxTokens > 0 {
		least = min(least, req.MaxTokens)
	}
	if tokens == req.MaxTokens || tokens < least {
		return nil
	}
	fitted := *req
	fitted.MaxTokens = tokens
	return &fitted
}

// promptTokens returns the tokens of a refused request. A total that is named may count those
// of the answer; the estimate decides.
func (m *fittedModel) promptTokens(req *Request, l Limits) int {
	guess := m.estimate(req)
	n := l.Prompt
	if n == 0 && l.Total > 0 {
		n = l.Total
		if without := l.Total - req.MaxTokens; without > 0 && abs(float64(without)-guess) < abs(float64(l.Total)-guess) {
			n = without
		}
	}
	if n == 0 && l.Context > 0 && l.Excess > 0 {
		n = l.Context + l.Excess
	}
	if n == 0 {
		return int(guess * fitMargin)
	}
	m.windows.estimator.Learn(m.Name(), req.Size(), Usage{Input: n})
	return n
}

func abs(x float64) float64 { return max(x, -x) }
