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
				New: func(s llmtest.Server) llm.Provider {
					return gemini.New(gemini.Config{
						BaseURL: s.URL + "/gemini/v1beta", Key: s.Key, HeaderTimeout: s.Patience, IdleTimeout: s.Patience,
					})
				},
				Model: model, Other: "gemini-2.5-flash",
				Lacks: []llmtest.MissingFeature{llmtest.NoPayment},
			})
		})
	}
}
