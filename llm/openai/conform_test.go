package openai_test

import (
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
)

func TestConform(t *testing.T) {
	for name, config := range map[string]openai.Config{"chat": {Chat: true}, "responses": {Responses: true}} {
		t.Run(name, func(t *testing.T) {
			llmtest.Conform(t, llmtest.Adapter{
				New: func(s llmtest.Server) llm.Provider {
					c := config
					c.BaseURL, c.Key, c.HeaderTimeout, c.IdleTimeout = s.URL+"/openai/v1", s.Key, s.Patience, s.Patience
					return openai.New(c)
				},
				Model: "sim-slow", Other: "sim-fast",
			})
		})
	}
}
