package gemini

import (
	"context"

	"ponder/llm"
)

type (
	countRequest struct {
		Request countedRequest `json:"generateContentRequest"`
	}
	countedRequest struct {
		Model string `json:"model"`
		*generateRequest
	}
)

// CountTokens implements [llm.TokenCounter], but for Vertex AI, which counts in another way.
func (m *model) CountTokens(ctx context.Context, req *llm.Request) (int, error) {
	if m.vertex {
		return 0, &llm.Error{Class: llm.BadRequest, Model: m.name, Message: "no counts of tokens by Vertex AI"}
	}
	plan, _, err := m.plan(req, false)
	if err != nil {
		return 0, err
	}
	return m.client.Count(ctx, m.id, m.url(m.id, ":countTokens"), m.header, countRequest{countedRequest{resource(m.id), plan}}, "totalTokens")
}
