package wire

import (
	"encoding/json"
	"testing"

	"ponder/llm"
)

func TestCounts(t *testing.T) {
	for text, want := range map[string]Count{
		`5`: 5, `5.0`: 5, `"5"`: 5, `{}`: 0, `[]`: 0, `-3`: 0, `9e18`: maxCount, `1e999`: maxCount, `true`: 0, `"x"`: 0,
	} {
		var c Count
		if err := json.Unmarshal([]byte(text), &c); err != nil || c != want {
			t.Errorf("%s: got %d, %v", text, c, err)
		}
	}
}

func TestCountedOr(t *testing.T) {
	cost := int64(7)
	for _, tt := range []struct {
		used, want llm.Usage
		out        int
	}{
		{llm.Usage{Input: 3, Output: 1}, llm.Usage{Input: 3, Output: 1}, 36},
		{llm.Usage{Input: 3}, llm.Usage{Input: 3}, 0},
		{llm.Usage{Input: 3}, llm.Usage{Input: 3, Output: 10, Estimated: true}, 36},
		{llm.Usage{Cost: &cost}, llm.Usage{Input: 20, Output: 10, Cost: &cost, Estimated: true}, 36},
	} {
		if got := FillMissing(tt.used, 72, tt.out); got != tt.want {
			t.Errorf("CountedOr(%+v, 72, %d) = %+v, want %+v", tt.used, tt.out, got, tt.want)
		}
	}
}
