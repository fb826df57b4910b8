package llm

import (
	"context"
	"iter"
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
	vectors, usage, err := p.Provider.Embed(ctx, id, texts)
	o = outcomeOf(err)
	return vectors, usage, err
}

type gatedModel struct {
	Model
	gate *Gate
}

// Prepare implements [Preparer].
func (m gatedModel) Prepare(req *Request) { Prepare(m.Model, req) }

// Generate implements [Model]. The place is given back before the last delta or
// the error is handed on, so that whoever gets it may ask again from there.
func (m gatedModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		p, err := m.gate.enter(ctx, m.Name(), req.Background)
		if err != nil {
			yield(Delta{}, err)
			return
		}
		defer m.gate.leave(p, outcomeUnknown, nil) // whoever looked on left, or panicked
		for d, err := range m.Model.Generate(ctx, req) {
			switch {
			case err != nil || d.Done != nil:
				m.gate.leave(p, outcomeOf(err), err)
			case p.probe:
				m.gate.alive(p)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
