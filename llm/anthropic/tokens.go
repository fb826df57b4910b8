package anthropic

import (
	"context"

	"ponder/llm"
)

// CountTokens implements [llm.TokenCounter], but for Vertex AI, which counts in another way.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.vertex {
		return 0, &llm.Error{Class: llm.BadRequest, Model: m.name, Message: "no counts of tokens by Vertex AI"}
	}
	p, err := m.plan(req, false)
	if err != nil {
		return 0, err
	}
	b := &p.body
	b.MaxTokens, b.Temperature, b.Stream = 0, nil, false // it does not know these
	return m.client.Count(ctx, m.id, m.url()+"/count_tokens", m.header, b, "input_tokens")
}
