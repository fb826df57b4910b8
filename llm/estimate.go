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

// Tokens per byte of text: the initial rate, and the range of learned rates.
const (
	tokensPerByte    = 1 / 3.6
	minTokensPerByte = 1.0 / 8
	maxTokensPerByte = 1.0
)

const (
	estimateWeight = 0.2 // weight of a new report
	estimateMin    = 200 // bytes; below that, the providers' own additions outweigh the text
	maxEstimated   = 500 // models
)

// An Estimator estimates token counts from bytes. It starts at 3.6 bytes a token and
// learns a rate for each model from reported usage. The zero value is ready. It is safe
// for concurrent use.
type Estimator struct {
	mu    sync.Mutex
	rates map[string]float64 // tokens per byte
}

// Tokens returns the estimated tokens of bytes of text for a model, rounded up. See
// [Request.Size].
func (e *Estimator) Tokens(model string, bytes int) int {
	return int(math.Ceil(float64(max(0, bytes)) * e.rate(model)))
}

// Usage returns the estimated usage of a request and answer, in bytes, marked Estimated.
func (e *Estimator) Usage(model string, request, answer int) Usage {
	return Usage{Input: e.Tokens(model, request), Output: e.Tokens(model, answer), Estimated: true}
}

// Learn adjusts a model's rate to the usage reported for a request of bytes. A report has
// a weight of 0.2; rates stay within 1 to 8 bytes a token. Learn ignores estimates,
// hedged usage and small requests.
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

func (e *Estimator) rate(model string) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if rate, ok := e.rates[model]; ok {
		return rate
	}
	return tokensPerByte
}

// makeRoom makes room for one model; it drops the first by name if the map is full.
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

// UnmarshalJSON restores the rates. A rate out of range is an error.
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

// An aside is a preamble that some servers leave in the text: reasoning, or channel and
// turn markers. Without an end it is a single marker.
type aside struct{ begin, end string }

// asides has the markers of DeepSeek, Qwen and most others, of Mistral, OpenThinker and
// Kimi, and of OpenAI's harmony format.
var asides = []aside{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"◁think▷", "◁/think▷"},
	{"<|channel|>analysis", "<|channel|>final"}, {"<|channel|>commentary", "<|channel|>final"}, {begin: "<|channel|>final"},
	{begin: "<|constrain|>json"}, {begin: "<|message|>"}, {begin: "<|start|>assistant"}, {begin: "<|im_start|>assistant"},
}

// ends has the end-of-turn markers that models leave after an answer.
var ends = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<end_of_turn>", "<|EOT|>",
	"<｜end▁of▁sentence｜>", "<eos>", "</s>",
}

// Aside checks whether text begins with a preamble, such as reasoning in <think> tags.
// Then end is the marker that closes it, or the marker itself. If text is a prefix of
// such a marker, more is true and the caller must read on.
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

// Spoken returns the answer in a model's text, without reasoning and markers. It is empty
// if there is only reasoning. Some templates drop the start tag. A lone end tag counts
// only at the start or end of a line or before JSON, because answers may mention the tag.
func Spoken(text string) string {
	if isBare(text) || json.Valid([]byte(text)) {
		return text
	}
	return unframed(text)
}

// isBare reports whether text looks like a JSON object without any reasoning end, as most
// answers do.
func isBare(text string) bool {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	return !slices.ContainsFunc(asides, func(a aside) bool { return a.end != "" && strings.Contains(text, a.end) })
}

// unframed removes leading asides and trailing ends.
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

// loneEnd returns the offset after reasoning that lacks its start tag, or 0.
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
