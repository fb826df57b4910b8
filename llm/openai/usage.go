package openai

import (
	"bytes"
	"math"
	"strconv"

	"ponder/llm"
)

// usage is what servers count, in the fields of all of them.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Input      int `json:"input_tokens"`  // Responses
	Output     int `json:"output_tokens"` // Responses

	PromptDetails     counts `json:"prompt_tokens_details"`
	InputDetails      counts `json:"input_tokens_details"` // Responses
	CompletionDetails counts `json:"completion_tokens_details"`
	OutputDetails     counts `json:"output_tokens_details"` // Responses

	CacheHit   int `json:"prompt_cache_hit_tokens"`     // DeepSeek
	Cached     int `json:"cached_tokens"`               // Moonshot
	CacheWrite int `json:"cache_creation_input_tokens"` // Vercel

	Cost        *amount `json:"cost"` // US dollars
	BYOK        bool    `json:"is_byok"`
	CostDetails struct {
		Upstream *amount `json:"upstream_inference_cost"`
	} `json:"cost_details"`
	Ticks *amount `json:"cost_in_usd_ticks"` // xAI
}

type counts struct {
	Cached     int `json:"cached_tokens"`
	CacheWrite int `json:"cache_write_tokens"`
	Reasoning  int `json:"reasoning_tokens"`
}

// An amount is a number that may come as a string.
type amount float64

// UnmarshalJSON implements json.Unmarshaler. What is no number is none.
func (a *amount) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err != nil {
		f = math.NaN()
	}
	*a = amount(f)
	return nil
}

const (
	microsPerDollar = 1e6
	ticksPerMicro   = 1e4 // 1e10 a dollar
)

// normal returns the count in its normal form.
func (u *usage) normal() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	prompt := first(u.Prompt, u.Input)
	read := min(first(u.PromptDetails.Cached, u.InputDetails.Cached, u.CacheHit, u.Cached), prompt)
	write := min(first(u.PromptDetails.CacheWrite, u.InputDetails.CacheWrite, u.CacheWrite), prompt-read)
	out := first(u.Completion, u.Output)
	reasoning := first(u.CompletionDetails.Reasoning, u.OutputDetails.Reasoning)
	if u.Total == prompt+out+reasoning || reasoning > out { // it was counted apart
		out += reasoning
	}
	return llm.Usage{
		Input: prompt - read - write, CacheRead: read, CacheWrite: write,
		Output: out, Reasoning: reasoning, Cost: u.cost(),
	}
}

// cost returns what the provider says it cost in millionths of a dollar, or nil.
func (u *usage) cost() *int64 {
	micros := math.NaN()
	switch {
	case u.Ticks != nil:
		micros = float64(*u.Ticks) / ticksPerMicro
	case u.Cost != nil:
		micros = float64(*u.Cost) * microsPerDollar
		if u.BYOK && u.CostDetails.Upstream != nil { // the cost is the broker's fee
			micros += float64(*u.CostDetails.Upstream) * microsPerDollar
		}
	}
	if math.IsNaN(micros) || micros < 0 || micros > 1e15 {
		return nil
	}
	n := int64(math.Round(micros))
	return &n
}

// maxCount bounds a count of tokens, so that sums of lies do not overflow.
const maxCount = 1 << 28

// first returns the first number above zero, or zero.
func first(list ...int) int {
	for _, n := range list {
		if n > 0 {
			return min(n, maxCount)
		}
	}
	return 0
}
