package anthropic

import (
	"context"
	"encoding/json"

	"ponder/llm"
)

// A countRequest is what of a [messageRequest] is counted.
type countRequest struct {
	Model        string            `json:"model"`
	System       []*block          `json:"system,omitempty"`
	Messages     []message         `json:"messages"`
	Tools        []json.RawMessage `json:"tools,omitempty"`
	ToolChoice   *toolChoice       `json:"tool_choice,omitempty"`
	Thinking     *thinking         `json:"thinking,omitempty"`
	OutputConfig *outputConfig     `json:"output_config,omitempty"`
}

// CountTokens implements [llm.TokenCounter], but for Vertex AI, which counts in another way.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.vertex {
		return 0, &llm.Error{Class: llm.BadRequest, Model: m.name, Message: "no counts of tokens by Vertex AI"}
	}
	p, err := m.plan(req, false)
	if err != nil {
		return 0, err
	}
	b := p.body
	return m.client.Count(ctx, m.id, m.base+"/v1/messages/count_tokens", m.header,
		countRequest{b.Model, b.System, b.Messages, b.Tools, b.ToolChoice, b.Thinking, b.OutputConfig}, "input_tokens")
}
