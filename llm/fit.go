package llm

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"
)

// A TokenCounter is a [Model] whose provider counts the tokens of a request, at no cost.
type TokenCounter interface {
	// CountTokens returns how many tokens the model would read of a request. Its errors
	// are those of Generate.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

// Numbers that Fit goes by.
const (
	fitMargin = 5.0 / 4         // the estimate may be wrong by so much, up or down
	fitLeast  = 256             // tokens: fewer are no answer's worth
	fitTime   = 5 * time.Second // for a count
)

// Fit returns m for a context of so many tokens, request and answer together. A request
// that may be too long for it, by a guess, is counted before it is sent: if its answer has
// not as much room as it may take, it is sent with MaxTokens cut to that, and if there is
// next to none, it fails with an [*Error] of the class TooLong, unsent.
//
// What is surely far too long is sent, and so is what cannot be counted within seconds: the
// provider is the judge. A request is counted once at most, and never before it is
// released; see [Holder].
func Fit(m Model, counter TokenCounter, context int) Model {
	return &fitted{Model: m, counter: counter, context: context}
}

type fitted struct {
	Model
	counter TokenCounter
	context int
	guess   Estimator   // learns from what is counted
	mute    atomic.Bool // the provider does not know how to count
}

// Generate implements [Model].
func (m *fitted) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if m.near(req) {
			var err error
			if req, err = m.fit(ctx, req); err != nil {
				yield(Delta{}, err)
				return
			}
		}
		m.Model.Generate(ctx, req)(yield)
	}
}

// Admits implements [Admitter].
func (m *fitted) Admits() (time.Duration, bool) { return Admits(m.Model) }

// Hold implements [Holder]. A request that has to be counted is begun with when it is released.
func (m *fitted) Hold(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	if m.near(req) {
		return Hold(ctx, struct{ Model }{m}, released, req)
	}
	return Hold(ctx, m.Model, released, req)
}

// near reports whether only a count can tell that a request and its answer fit.
func (m *fitted) near(req *Request) bool {
	guess := float64(m.guess.Tokens(m.Name(), req.Size()))
	return !m.mute.Load() && guess*fitMargin > float64(m.context-max(req.MaxTokens, fitLeast)) && guess < float64(m.context)*fitMargin
}

// fit counts a request, and returns it so that it fits.
func (m *fitted) fit(ctx context.Context, req *Request) (*Request, error) {
	ctx, cancel := context.WithTimeout(ctx, fitTime)
	defer cancel()
	n, err := m.counter.CountTokens(ctx, req)
	if err != nil {
		if c := ClassOf(err); c == NotFound || c == BadRequest || c == Malformed {
			m.mute.Store(true)
		}
		return req, nil //nolint:nilerr // what fails is seen when it is sent
	}
	m.guess.Learn(m.Name(), req.Size(), Usage{Input: n})
	room, least := m.context-n, fitLeast
	if req.MaxTokens > 0 {
		least = min(least, req.MaxTokens)
	}
	if room < least {
		return nil, &Error{Class: TooLong, Model: m.Name(),
			Message: fmt.Sprintf("not asked, for the request has %d tokens and the model reads %d", n, m.context), Unsent: true}
	}
	if req.MaxTokens <= room {
		return req, nil
	}
	cut := *req
	cut.MaxTokens = room
	return &cut, nil
}
