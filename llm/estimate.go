package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// Tokens per byte of text: what is assumed of a model that nothing is known of,
// and the range in which what is learned stays, whatever a model reports.
const (
	tokensPerByte    = 1 / 3.6
	minTokensPerByte = 1.0 / 8
	maxTokensPerByte = 1.0
)

// Numbers of learning.
const (
	estimateWeight = 0.2 // of a new report against what was known
	estimateMin    = 200 // bytes; in less, what providers add outweighs the text
	maxEstimated   = 500 // models
)

// An Estimator guesses how many tokens a text is, before a provider counts them.
// It begins with 3.6 bytes a token and learns a rate for each model from what is
// reported. The zero value is ready; it is safe for concurrent use.
type Estimator struct {
	mu    sync.Mutex
	rates map[string]float64 // tokens per byte
}

// Tokens returns about how many tokens a text of so many bytes is for a model,
// rounded up. For a request see [Request.Size].
func (e *Estimator) Tokens(model string, bytes int) int {
	return int(math.Ceil(float64(max(0, bytes)) * e.rate(model)))
}

// Usage returns a guess of what a request and an answer of so many bytes used,
// marked as such, for when the provider gave no count.
func (e *Estimator) Usage(model string, request, answer int) Usage {
	return Usage{Input: e.Tokens(model, request), Output: e.Tokens(model, answer), Estimated: true}
}

// Learn notes what a provider reported for a request of so many bytes. A report
// moves the rate by a fifth of the way, and never out of 1 to 8 bytes a token.
// Guesses, sums of two requests, and requests too small to tell are ignored.
func (e *Estimator) Learn(model string, bytes int, u Usage) {
	read := count(u.Input) + count(u.CacheRead) + count(u.CacheWrite)
	if u.Estimated || u.Hedged || bytes < estimateMin || read == 0 {
		return
	}
	seen := min(max(read/float64(bytes), minTokensPerByte), maxTokensPerByte)
	e.mu.Lock()
	defer e.mu.Unlock()
	rate, ok := e.rates[model]
	if !ok {
		rate = tokensPerByte
		e.makeRoom()
	}
	e.rates[model] = rate + estimateWeight*(seen-rate)
}

// rate returns the tokens per byte of a model.
func (e *Estimator) rate(model string) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rate, ok := e.rates[model]; ok {
		return rate
	}
	return tokensPerByte
}

// makeRoom makes sure that one more model fits, forgetting the first by name if need be.
func (e *Estimator) makeRoom() {
	if e.rates == nil {
		e.rates = make(map[string]float64)
	}
	if len(e.rates) >= maxEstimated {
		delete(e.rates, slices.Min(slices.Collect(maps.Keys(e.rates))))
	}
}

// MarshalJSON returns what was learned: tokens per byte by model.
func (e *Estimator) MarshalJSON() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return json.Marshal(e.rates)
}

// UnmarshalJSON takes what was learned. Rates that cannot have been are an error.
func (e *Estimator) UnmarshalJSON(js []byte) error {
	var rates map[string]float64
	if err := json.Unmarshal(js, &rates); err != nil {
		return err
	}
	for model, rate := range rates {
		if rate < minTokensPerByte || rate > maxTokensPerByte {
			return fmt.Errorf("%v tokens per byte of %s cannot be", rate, model)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rates = rates
	return nil
}
