package gemini_test

import (
	"testing"

	"ponder/llm"
	"ponder/llm/gemini"
	"ponder/llm/llmtest"
)

func TestConform(t *testing.T) {
	for _, model := range []string{"gemini-2.5-pro", "gemini-3-pro-preview"} {
		t.Run(model, func(t *testing.T) {
			llmtest.Conform(t, llmtest.Adapter{
				New: func(base, key string) llm.Provider {
					return gemini.New(gemini.Config{BaseURL: base + "/gemini/v1beta", Key: key})
				},
				Model: model, Other: "gemini-2.5-flash",
				Lacks: []llmtest.Lack{llmtest.NoPayment},
			})
		})
	}
}
