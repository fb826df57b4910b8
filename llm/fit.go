package llm

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"
	"time"
)

// A TokenCounter is a [Model] that counts a request's tokens at no cost.
type TokenCounter interface {
	// CountTokens returns the tokens that the model would read. It has the errors of
	// Generate.
	CountTokens(ctx context.Context, req *Request) (int, error)
}

const (
	fitMargin    = 5.0 / 4 // the estimate's error factor
	minFitAnswer = 256     // smallest useful answer
	fitTime      = 5 * time.Second
)

// Fit limits m to context tokens, request and answer together. If the estimate is near
// the limit, Fit counts the request. It cuts MaxTokens to the room left, or fails unsent
// with class TooLong.
//
// The provider judges requests that are far too long or cannot be counted in time. Fit
// counts once, and only after the release; see [Preparer].
func Fit(m Model, counter TokenCounter, context int) Model {
	return &fittedModel{Model: m, counter: counter, context: context}
}

type fittedModel struct {
	Model
	counter     TokenCounter
	context     int
	estimator   Estimator
	cannotCount atomic.Bool // the provider cannot count
}

func (m *fittedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if m.needsCount(req) {
			var err error
			if req, err = m.fitRequest(ctx, req); err != nil {
				yield(Delta{}, err)
				return
			}
		}
		m.Model.Generate(ctx, req)(yield)
	}
}

func (m *fittedModel) Available() (time.Duration, bool) { return Available(m.Model) }

// Prepare implements [Preparer]. It prepares a request that needs a count only at its release.
func (m *fittedModel) Prepare(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	if m.needsCount(req) {
		return Prepare(ctx, struct{ Model }{m}, released, req)
	}
	return Prepare(ctx, m.Model, released, req)
}

// needsCount reports whether fitting requires a count.
func (m *fittedModel) needsCount(req *Request) bool {
	guess := float64(m.estimator.Tokens(m.Name(), req.Size()))
	return !m.cannotCount.Load() && guess*fitMargin > float64(m.context-max(req.MaxTokens, minFitAnswer)) && guess < float64(m.context)*fitMargin
}

func (m *fittedModel) fitRequest(ctx context.Context, req *Request) (*Request, error) {
	ctx, cancel := context.WithTimeout(ctx, fitTime)
	defer cancel()
	n, err := m.counter.CountTokens(ctx, req)
	if err != nil {
		if c := ClassOf(err); c == NotFound || c == BadRequest || c == Malformed {
			m.cannotCount.Store(true)
		}
		return req, nil //nolint:nilerr // what fails is seen when it is sent
	}
	m.estimator.Learn(m.Name(), req.Size(), Usage{Input: n})
	room, minAnswer := m.context-n, minFitAnswer
	if req.MaxTokens > 0 {
		minAnswer = min(minAnswer, req.MaxTokens)
	}
	if room < minAnswer {
		return nil, &Error{Class: TooLong, Model: m.Name(),
			Message: fmt.Sprintf("not sent: the request has %d tokens, and the context of the model has %d", n, m.context), Unsent: true}
	}
	if req.MaxTokens <= room {
		return req, nil
	}
	cut := *req
	cut.MaxTokens = room
	return &cut, nil
}
