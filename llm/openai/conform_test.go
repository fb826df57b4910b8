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
				New: func(base, key string) llm.Provider {
					config.BaseURL, config.Key = base+"/openai/v1", key
					return openai.New(config)
				},
				Model: "sim-slow", Other: "sim-fast",
			})
		})
	}
}
