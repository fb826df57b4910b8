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

// A preambleMarker is a preamble that some servers leave in the text. Without end it is a single
// marker.
type preambleMarker struct{ begin, end string }

// preambleMarkers has the markers of DeepSeek, Qwen and most others, Mistral, OpenThinker, Kimi,
// and OpenAI's harmony.
var preambleMarkers = []preambleMarker{
	{"<think>", "</think>"}, {"<thinking>", "</thinking>"}, {"<reasoning>", "</reasoning>"}, {"[THINK]", "[/THINK]"},
	{"<|begin_of_thought|>", "<|end_of_thought|>"}, {"◁think▷", "◁/think▷"},
	{"<|channel|>analysis", "<|channel|>final"}, {"<|channel|>commentary", "<|channel|>final"}, {begin: "<|channel|>final"},
	{begin: "<|constrain|>json"}, {begin: "<|message|>"}, {begin: "<|start|>assistant"}, {begin: "<|im_start|>assistant"},
}

// endMarkers has end-of-turn markers.
var endMarkers = []string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|return|>", "<|endoftext|>", "<|end_of_text|>", "<|end_of_turn|>", "<end_of_turn>", "<|EOT|>",
	"<｜end▁of▁sentence｜>", "<eos>", "</s>",
}

// PreambleEnd returns the closing marker of a preamble such as <think>, or a single marker.
// more reports that text may be an incomplete marker.
func PreambleEnd(text string) (end string, more bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, a := range preambleMarkers {
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

// FinalText returns the answer without reasoning and markers, or "". Templates may drop the
// start tag; a lone end tag counts only next to a line break or before JSON, because
// answers may mention it.
func FinalText(text string) string {
	if isBare(text) || json.Valid([]byte(text)) {
		return text
	}
	return stripMarkers(text)
}

// isBare reports whether text is like most answers: an object without reasoning.
func isBare(text string) bool {
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	return !slices.ContainsFunc(preambleMarkers, func(a preambleMarker) bool { return a.end != "" && strings.Contains(text, a.end) })
}

func stripMarkers(text string) string {
	for {
		end, _ := PreambleEnd(text)
		if end == "" {
			break
		}
		_, text, _ = strings.Cut(text, end)
	}
	text = strings.TrimSpace(text[loneEndOffset(text):])
	for cut := true; cut; {
		cut = false
		for _, end := range endMarkers {
			if rest, ok := strings.CutSuffix(text, end); ok {
				text, cut = strings.TrimSpace(rest), true
			}
		}
	}
	return text
}

// loneEndOffset returns the offset after reasoning without a start tag, or 0.
func loneEndOffset(text string) int {
	for _, a := range preambleMarkers {
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
