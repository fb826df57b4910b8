package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
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
	fitTime      = 5 * time.Second
	maxRefits    = 2 // requests after a refusal that names a limit
)

// Limits are token limits that a refusal names; zero is not named.
type Limits struct {
	Context int // tokens of request and answer
	Output  int // tokens of an answer

	Prompt int // tokens of the refused request
	Total  int // tokens of the refused request, perhaps with those of the answer
	Excess int // tokens of the refused request beyond the context
}

// Windows remembers the limits of models by full name, and estimates tokens. The zero value is
// ready. It is safe for concurrent use.
type Windows struct {
	estimator Estimator

	mu    sync.Mutex
	known map[string]Limits
}

const maxWindows = 1000

// Lookup returns the context and output limits of a model; zero is unknown.
func (w *Windows) Lookup(model string) Limits {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[model]
}

// Learn remembers the limits that a refusal names.
func (w *Windows) Learn(model string, l Limits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= maxWindows {
		w.known = make(map[string]Limits)
	}
	old := w.known[model]
	if l.Context > 0 {
		old.Context = l.Context
	}
	if l.Output > 0 {
		old.Output = l.Output
	}
	w.known[model] = old
}

// FitWindow limits m to the context that w knows or the server lists, request and answer together. If
// the estimate is near the limit, FitWindow counts the request. It cuts MaxTokens to the room left,
// or fails unsent with class TooLong. Without a counter, it cuts MaxTokens to the room that the
// estimate leaves. If the model refuses a request and names a limit, FitWindow remembers it in w and
// repeats the request with a limit that fits. counter and lister may be nil.
//
// The provider judges requests that are far too long or cannot be counted in time. FitWindow counts
// once, and only after the release; see [Preparer].
func FitWindow(m Model, counter TokenCounter, lister WindowLister, w *Windows) Model {
	return &fittedModel{Model: m, counter: counter, lister: lister, windows: w}
}

type fittedModel struct {
	Model
	counter     TokenCounter // or nil
	lister      WindowLister // or nil
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
			stream := m.Model.Generate(ctx, req)
			if released != nil && refits == 0 {
				stream = Prepare(ctx, m.Model, released, req)
			}
			var again *Request
			started := false
			for d, err := range stream {
				if err != nil && !started && refits < maxRefits {
					if again = m.refitRequest(req, err); again != nil {
						break
					}
				}
				started = true
				if d.Done != nil {
					m.windows.estimator.Learn(m.Name(), req.Size(), d.Done.Usage)
				}
				if !yield(d, err) {
					return
				}
			}
			req = again
		}
	}
}

// context returns the known context, or zero.
func (m *fittedModel) context() int {
	n := m.windows.Lookup(m.Name()).Context
	if n == 0 && m.lister != nil {
		n = m.lister.ListedContext()
	}
	return n
}

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
		room := context - int(m.estimate(req)*fitMargin)
		return limitAnswer(req, max(room, minFitAnswer)), nil
	default:
		return req, nil
	}
	n, err := m.countTokens(ctx, req)
	if err != nil {
		return req, nil //nolint:nilerr // what fails is seen when it is sent
	}
	room, minAnswer := context-n, minFitAnswer
	if req.MaxTokens > 0 {
		minAnswer = min(minAnswer, req.MaxTokens)
	}
	if room < minAnswer {
		return nil, &Error{Class: TooLong, Model: m.Name(),
			Message: fmt.Sprintf("not sent: the request has %d tokens, and the context of the model has %d", n, context), Unsent: true}
	}
	return limitAnswer(req, room), nil
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

// refitRequest returns a request that fits the limits that a refusal names, or nil.
func (m *fittedModel) refitRequest(req *Request, err error) *Request {
	var e *Error
	if !errors.As(err, &e) || e.Class != TooLong && e.Class != BadRequest || e.Limits == (Limits{}) {
		return nil
	}
	m.windows.Learn(m.Name(), e.Limits)
	tokens := req.MaxTokens
	if output := e.Limits.Output; output > 0 && (tokens == 0 || tokens > output) {
		tokens = output
	}
	if context := e.Limits.Context; context > 0 {
		room := context - m.promptTokens(req, e.Limits)
		if tokens == 0 || tokens > room {
			tokens = room
		}
	}
	minAnswer := minFitAnswer
	if req.MaxTokens > 0 {
		minAnswer = min(minAnswer, req.MaxTokens)
	}
	if tokens == req.MaxTokens || tokens < minAnswer {
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
	if n == 0 {
		return int(guess * fitMargin)
	}
	m.windows.estimator.Learn(m.Name(), req.Size(), Usage{Input: n})
	return n
}

func abs(x float64) float64 { return max(x, -x) }
