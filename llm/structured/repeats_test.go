package structured

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A line that isSingleSentence accepts has no end of a sentence within.
func TestIsSingleSentence(t *testing.T) {
	parts := []string{"a", "bc", " ", "  ", ".", "!", "…", "。", "？", "”", ")", "*", "1.", "- ", "3.5", "é"}
	rng := rand.New(rand.NewPCG(5, 1))
	accepted := 0
	for range 20_000 {
		var b strings.Builder
		for range rng.IntN(8) {
			b.WriteString(parts[rng.IntN(len(parts))])
		}
		line := b.String()
		if !isSingleSentence(line) {
			continue
		}
		accepted++
		for _, at := range sentenceEnd.FindAllStringIndex(line, -1) {
			if at[1] < len(line) {
				t.Fatalf("%q ends a sentence at %d", line, at[1])
			}
		}
	}
	if accepted < 1000 || !isSingleSentence("The tide is late.") || isSingleSentence("The tide is late. Why?") {
		t.Errorf("%d lines were accepted", accepted)
	}
}
