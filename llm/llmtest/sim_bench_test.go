package llmtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ponder/llm/llmtest"
)

// BenchmarkSim excludes the network.
func BenchmarkSim(b *testing.B) {
	prompt := strings.Repeat("- an earlier thought about layered awareness and how it is measured in animals\n", 60) +
		"Question: What is consciousness, %d?\nGenerate 3-5 thoughts.\nTHOUGHT: [text]\nTYPE: [critique/insight]\nCONFIDENCE: [0.0-1.0]\n---"
	for name := range newCalls("", true) {
		b.Run(name, func(b *testing.B) {
			sim := llmtest.NewSim(llmtest.SimConfig{Chunks: 10})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				c := newCalls(fmt.Sprintf(prompt, i), true)[name]
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://sim"+c.path, strings.NewReader(c.body))
				if err != nil {
					b.Fatal(err)
				}
				r.Header.Set("anthropic-version", "2023-06-01")
				sim.ServeHTTP(newRecorder(), r)
			}
		})
	}
}
