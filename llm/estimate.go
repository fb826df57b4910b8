package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
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

// An aside is what models write before their answer where a server does not keep it
// apart: reasoning, or the names of channels and turns. It ends with its own end; one
// that has but a beginning is a mark.
type aside struct{ begin, end string }

// asides are those of DeepSeek, Qwen and most others, of Mistral, OpenThinker, Kimi, and
// of OpenAI's harmony.
var asides = []aside{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"◁think▷", "◁/think▷"},
	{"<|channel|>analysis", "<|channel|>final"}, {"<|channel|>commentary", "<|channel|>final"}, {begin: "<|channel|>final"},
	{begin: "<|constrain|>json"}, {begin: "<|message|>"}, {begin: "<|start|>assistant"}, {begin: "<|im_start|>assistant"},
}

// ends are what models write behind their answer: the ends of turns.
var ends = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<end_of_turn>", "<|EOT|>",
	"<｜end▁of▁sentence｜>", "<eos>", "</s>",
}

// Aside tells whether text begins with something that is no part of an answer, such as
// reasoning in <think> tags: then that ends with the next end, which may be in what Aside
// was given already. If it may be the beginning of such a thing, more has to be heard.
func Aside(text string) (end string, more bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, a := range asides {
		if strings.HasPrefix(text, a.begin) {
			if a.end == "" {
				return a.begin, false
			}
			return a.end, false
		}
		more = more || strings.HasPrefix(a.begin, text)
	}
	return "", more
}

// Spoken returns what of a model's text is its answer: without the reasoning before it,
// and without the marks of channels and turns around it. It is empty if there is nothing
// but reasoning. The end of reasoning whose beginning a template has swallowed counts only
// where it stands as an end does, and not where an answer speaks of it.
func Spoken(text string) string {
	if isBare(text) || json.Valid([]byte(text)) {
		return text
	}
	return unframed(text)
}

// isBare reports whether a text is an object, as it seems, that neither has anything around
// it nor the end of reasoning in it, as most answers are: then nothing is taken from it.
func isBare(text string) bool {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	return !slices.ContainsFunc(asides, func(a aside) bool { return a.end != "" && strings.Contains(text, a.end) })
}

// unframed is Spoken of a text that is more than JSON.
func unframed(text string) string {
	for {
		end, _ := Aside(text)
		if end == "" {
			break
		}
		_, text, _ = strings.Cut(text, end)
	}
	text = strings.TrimSpace(text[loneEnd(text):])
	for cut := true; cut; {
		cut = false
		for _, end := range ends {
			if rest, ok := strings.CutSuffix(text, end); ok {
				text, cut = strings.TrimSpace(rest), true
			}
		}
	}
	return text
}

// loneEnd returns where text goes on behind reasoning that only ends in it, or 0.
func loneEnd(text string) int {
	for _, a := range asides {
		i := strings.LastIndex(text, a.end)
		if a.end == "" || i < 0 || strings.Contains(text[:i], a.begin) {
			continue
		}
		after := text[i+len(a.end):]
		alone := i == 0 || text[i-1] == '\n'
		if rest := strings.TrimLeft(after, " \t\r"); alone || rest == "" || strings.IndexByte("\n{[", rest[0]) >= 0 {
			return i + len(a.end)
		}
	}
	return 0
}
