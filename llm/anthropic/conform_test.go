package anthropic_test

import (
	"testing"

	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/llmtest"
)

func TestConform(t *testing.T) {
	for model, lacks := range map[string][]llmtest.MissingFeature{
		"claude-sonnet-4": nil, "claude-opus-4-1": nil, "claude-opus-4-6": nil, "claude-opus-5-5": {llmtest.NoForcedTools},
	} {
		t.Run(model, func(t *testing.T) {
			llmtest.Conform(t, llmtest.Adapter{
				New: func(s llmtest.Server) llm.Provider {
					return anthropic.New(anthropic.Config{
						BaseURL: s.URL + "/anthropic", Key: s.Key, HeaderTimeout: s.Patience, IdleTimeout: s.Patience,
					})
				},
				Model: model, Other: "claude-sonnet-4-5",
				Lacks: append(lacks, llmtest.NoEmbeddings),
			})
		})
	}
}
