package llmtest

import (
	"context"
	"sync"

	"ponder/llm"
)

// A Provider is an [llm.Provider] in this process, for tests of what chooses
// models. The zero value has every model. Set its fields before its first use.
type Provider struct {
	Name   string            // "" is test
	Models map[string]*Model // by id; others are not found, if it is not nil

	mu   sync.Mutex
	made map[string]*Model
}

// Model implements [llm.Provider].
func (p *Provider) Model(id string) llm.Model {
	if m := p.Models[id]; m != nil {
		return m
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = make(map[string]*Model)
	}
	m := p.made[id]
	if m == nil {
		m = &Model{ID: p.full(id)}
		if p.Models != nil {
			m.Answer = func(*llm.Request) (llm.Message, error) { return llm.Message{}, p.missing(id) }
		}
		p.made[id] = m
	}
	return m
}

// Check implements [llm.Provider].
func (p *Provider) Check(_ context.Context, id string) error {
	if p.Models != nil && p.Models[id] == nil {
		return p.missing(id)
	}
	return nil
}

// Embed implements [llm.Provider]: texts with the same words are near each
// other.
func (p *Provider) Embed(ctx context.Context, _ string, texts []string) ([][]float32, llm.Usage, error) {
	if err := ctx.Err(); err != nil {
		return nil, llm.Usage{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled", Err: err}
	}
	vectors, u := make([][]float32, len(texts)), llm.Usage{}
	for i, t := range texts {
		vectors[i] = embedding(t, dimensions)
		u.Input += (len(t) + 3) / 4
	}
	return vectors, u, nil
}

func (p *Provider) full(id string) string {
	if p.Name == "" {
		return "test/" + id
	}
	return p.Name + "/" + id
}

func (p *Provider) missing(id string) error {
	return &llm.Error{Class: llm.NotFound, Model: p.full(id), Status: 404, Message: "no such model"}
}
