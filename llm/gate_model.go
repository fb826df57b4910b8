package llm

import (
	"context"
	"errors"
	"iter"
	"time"
)

type gatedProvider struct {
	Provider
	gate *Gate
}

func (p gatedProvider) Model(id string) Model { return p.gate.Model(p.Provider.Model(id)) }

func (p gatedProvider) Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error) {
	in, err := p.gate.enter(ctx, p.Provider.Model(id).Name(), false)
	if err != nil {
		return nil, Usage{}, err
	}
	o := outcomeUnknown
	defer func() { p.gate.leave(in, o, err) }()
	vectors, usage, err := p.Provider.Embed(p.gate.hearing(ctx, in), id, texts)
	o = outcomeOf(err)
	return vectors, usage, err
}

type gatedModel struct {
	Model
	gate *Gate
}

// Generate implements [Model]. The place is given back before the last delta or
// the error is handed on, so that whoever gets it may ask again from there.
func (m *gatedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return m.pass(ctx, nil, req)
}

// Admits implements [Admitter].
func (m *gatedModel) Admits() (time.Duration, bool) { return m.gate.admits(m.Name()) }

// Hold implements [Holder]. The place is taken while the request is held back.
func (m *gatedModel) Hold(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return m.pass(ctx, released, req)
}

// pass makes a request once it has a place; it is held back until released is closed,
// unless that is nil.
func (m *gatedModel) pass(ctx context.Context, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p, err := m.gate.enter(ctx, m.Name(), req.Background)
		switch {
		case err != nil:
			yield(Delta{}, err)
		case req.Hedge:
			m.hedged(ctx, p, released, req)(yield)
		default:
			m.through(ctx, p, released, req)(yield)
		}
	}
}

// through makes a request that has its place.
func (m *gatedModel) through(ctx context.Context, p *pass, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		defer m.gate.leave(p, outcomeUnknown, nil) // whoever looked on left, or panicked
		heard := m.gate.hearing(ctx, p)
		deltas := m.Model.Generate(heard, req)
		if released != nil {
			deltas = Hold(heard, m.Model, released, req)
		}
		for d, err := range deltas {
			switch {
			case err != nil || d.Done != nil:
				m.gate.leave(p, outcomeOf(why(ctx, err)), err)
				err = m.gate.told(m.Name(), err)
			case p.probe:
				m.gate.alive(p)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// why returns why a call was ended: for a failure of the model that whoever asked has
// noticed, if that is the cause of its context.
func why(ctx context.Context, err error) error {
	var cause *Error
	if ClassOf(err) == Cancelled && errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}
