package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
)

// Tokens per byte: initial rate and range.
const (
	tokensPerByte    = 1 / 3.6
	minTokensPerByte = 1.0 / 8
	maxTokensPerByte = 1.0
)

const (
	estimateWeight = 0.2
	estimateMin    = 200 // bytes; below it, providers' additions outweigh the text
	maxEstimated   = 500 // models
)

// An Estimator estimates token counts from bytes. It starts at 3.6 bytes a token and
// learns each model's rate. The zero value is ready. It is safe for concurrent use.
type Estimator struct {
	mu    sync.Mutex
	rates map[string]float64 // tokens per byte
}

// Tokens returns a model's estimated tokens for bytes of text; see [Request.Size].
func (e *Estimator) Tokens(model string, bytes int) int {
	return int(math.Ceil(float64(max(0, bytes)) * e.tokenRate(model)))
}

// Usage returns the estimated usage for bytes of request and answer.
func (e *Estimator) Usage(model string, request, answer int) Usage {
	return Usage{Input: e.Tokens(model, request), Output: e.Tokens(model, answer), Estimated: true}
}

// Learn adjusts a model's rate within 1 to 8 bytes a token, with weight 0.2. It ignores
// estimates, hedged usage and small requests.
func (e *Estimator) Learn(model string, bytes int, u Usage) {
	read := tokenCount(u.Input) + tokenCount(u.CacheRead) + tokenCount(u.CacheWrite)
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

func (e *Estimator) tokenRate(model string) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rate, ok := e.rates[model]; ok {
		return rate
	}
	return tokensPerByte
}

func (e *Estimator) makeRoom() {
	if e.rates == nil {
		e.rates = make(map[string]float64)
	}
	if len(e.rates) >= maxEstimated {
		delete(e.rates, slices.Min(slices.Collect(maps.Keys(e.rates))))
	}
}

// MarshalJSON returns the tokens per byte by model.
func (e *Estimator) MarshalJSON() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return json.Marshal(e.rates)
}

// UnmarshalJSON restores rates, and rejects those out of range.
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
