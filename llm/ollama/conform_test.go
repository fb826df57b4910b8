package ollama_test

import (
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/llm/ollama"
)

func TestConform(t *testing.T) {
	llmtest.Conform(t, llmtest.Adapter{
		New: func(s llmtest.Server) llm.Provider {
			return ollama.New(ollama.Config{BaseURL: s.URL, Key: s.Key, HeaderTimeout: s.Patience, IdleTimeout: s.Patience})
		},
		Model: "llama3.1", Other: "qwen3",
		Lacks: []llmtest.MissingFeature{
			llmtest.NoFilter, llmtest.NoForcedTools, llmtest.NoAnswerID, llmtest.NoRetryHeaders, llmtest.NoCache,
		},
	})
}
