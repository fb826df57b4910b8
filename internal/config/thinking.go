package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ponder/internal/redact"
	"ponder/internal/retention"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Switch is "true", "false" or "auto"; nothing is "false".
type Switch string

// Auto leaves it to what is known of the model.
const Auto Switch = "auto"

// UnmarshalTOML reads a boolean or the word auto.
func (s *Switch) UnmarshalTOML(v any) error {
	literal, err := switched(fmt.Sprint(v))
	*s = Switch(strings.Trim(literal, `"`))
	return err
}

// MarshalText writes what UnmarshalTOML reads.
func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns one of the three words.
func (s Switch) String() string {
	if s == "" {
		return "false"
	}
	return string(s)
}

// switched reads a boolean or the word auto. Nothing is true.
func switched(v string) (string, error) {
	if strings.EqualFold(v, string(Auto)) {
		return quote(string(Auto)), nil
	}
	literal, err := boolean(v)
	if err != nil {
		return "", fmt.Errorf("%q is none of true, false, auto", textkit.Truncate(v, 20))
	}
	return literal, nil
}

// Thinking says how models think within a turn of a conversation: how many thoughts
// they may put down, and what becomes of these. Zero numbers are left to the program.
type Thinking struct {
	Retention string   `toml:"retention"` // see [Thinking.Rule]
	Redact    Patterns `toml:"redact"`    // see [redact.Options]
	Templates []string `toml:"templates"` // names, see package tool/think
	PerTurn   int      `toml:"per_turn"`
	PerMinute int      `toml:"per_minute"`
}

// Rule returns for how long thoughts are kept.
func (t Thinking) Rule() (retention.Rule, error) {
	r, err := retention.Parse(t.Retention)
	if err != nil {
		return r, fmt.Errorf("thinking.retention: %w", err)
	}
	return r, nil
}

// Patterns are regular expressions. Commas in them that are in no brackets are kept
// as \x2c, so that commas can stand between patterns.
type Patterns []string

// UnmarshalTOML reads a pattern or a list of patterns.
func (p *Patterns) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) > redact.MaxPatterns {
		return fmt.Errorf("%d patterns, of at most %d", len(list), redact.MaxPatterns)
	}
	*p = nil
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a pattern", v)
		}
		if err := redact.Check(text); err != nil {
			return err
		}
		*p = append(*p, strings.Join(parts(text), `\x2c`))
	}
	return nil
}

// patterns reads regular expressions with commas between them.
func patterns(v string) (string, error) {
	var list []string
	for _, p := range parts(v) {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if err := redact.Check(p); err != nil {
			return "", err
		}
		list = append(list, quote(p))
	}
	if len(list) > redact.MaxPatterns {
		return "", fmt.Errorf("%d patterns, of at most %d", len(list), redact.MaxPatterns)
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// parts returns what stands between the commas of a regular expression that are not
// in brackets, nor quoted.
func parts(text string) (list []string) {
	depth, from, literal := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			literal = text[i] == 'Q' || literal && text[i] != 'E'
		case literal:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth <= 0:
			list, from = append(list, text[from:i]), i+1
		}
	}
	return append(list, text[from:])
}

// templates reads names with commas between them.
func templates(v string) (string, error) {
	var list []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if len(name) > maxTemplate || strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return "", errors.New("the name of a template has small letters, digits and hyphens, such as code-analysis")
		}
		list = append(list, quote(name))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// maxTemplate is how long the name of a template may be, in bytes.
const maxTemplate = 64

// retain checks for how long thoughts are kept.
func retain(v string) (string, error) {
	r, err := retention.Parse(v)
	return quote(r.String()), err
}

// Thinks reports whether a model, by its full name, is offered the tool think: as
// enable_thinking says, and if that is auto, unless it reasons by itself.
func (c *Config) Thinks(model string, prices llm.Prices) bool {
	switch c.EnableThinking {
	case "true":
		return true
	case Auto:
		return !Reasons(model, prices)
	}
	return false
}

// reasoning says of lines of models, by the beginning of their names, whether they
// reason before they answer though nobody asks them to, as their makers' documentation
// had it in November 2026. The longest beginning counts.
//
//	claude      off unless asked for until 4.8; from 5 on, on
//	gpt-5.1..4  can, and by default do not; gpt-5 itself and those from 5.5 on do
//	o1, o3, o4  always
//	gemini      from 2.5 on, but for flash-lite of 2.5
//	others      where the name stands for a model that only reasons
func reasoning() map[string]bool {
	return map[string]bool{
		"claude-3": false, "claude-opus-4": false, "claude-sonnet-4": false, "claude-haiku-4": false, "claude": true,
		"gpt-4": false, "gpt-5.1": false, "gpt-5.2": false, "gpt-5.3": false, "gpt-5.4": false, "gpt-5-chat": false, "gpt-5": true, "gpt-6": true,
		"o1": true, "o3": true, "o4": true, "codex-": true, "gpt-oss": true,
		"gemini-1": false, "gemini-2.0": false, "gemini-2.5-flash-lite": false, "gemini": true,
		"deepseek-r1": true, "deepseek-reasoner": true, "deepseek-chat": false, "qwq": true, "qwen3": true, "magistral": true, "mistral": false,
		"grok-3": false, "grok-4": true, "kimi-k2-thinking": true, "glm-4.5": true, "glm-4.6": true, "glm-4.7": true, "glm-5": true,
		"phi-4-reasoning": true, "llama": false, "gemma": false,
	}
}

// Reasons reports whether a model, by its full name, reasons by itself: as the table
// of model lines says; if that does not know it, as the table of prices does; and of
// one that nobody knows, if its name says so.
func Reasons(model string, prices llm.Prices) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	best, reasons := "", false
	for prefix, r := range reasoning() {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best, reasons = prefix, r
		}
	}
	for _, word := range []string{"thinking", "reasoning", "reasoner"} {
		if strings.Contains(name, word) {
			return !strings.Contains(name, "non-"+word)
		}
	}
	if best != "" {
		return reasons
	}
	info, _ := prices.Lookup(model)
	return info.Reasoning
}

// Research says how questions are researched. What is zero is left to the program.
type Research struct {
	MaxRounds              int      `toml:"maxRounds"`              // of looking, 1 to [MaxRounds]
	MaxItemsPerSource      int      `toml:"maxItemsPerSource"`      // passages that a search may bring, 1 to [MaxItems]
	MaxParallelQueries     int      `toml:"maxParallelQueries"`     // of the memory, and of the web, 1 to [MaxQueries]
	ForceWebSearch         bool     `toml:"forceWebSearch"`         // search the web though it seems needless
	EnableCaching          *bool    `toml:"enableCaching"`          // results of a while ago will do
	MinConfidenceThreshold float64  `toml:"minConfidenceThreshold"` // the least score of a passage, 0 to 1
	SynthesisStrategy      string   `toml:"synthesisStrategy"`      // one of [Strategies]
	For                    Duration `toml:"for"`                    // time for one
}

// The most that research may be told to do.
const (
	MaxRounds  = 20
	MaxItems   = 40
	MaxQueries = 10
)

// Strategies are those of the synthesis: a model writes the answer, though nothing
// was found, or the answer is made of quotes.
func Strategies() []string { return []string{"auto", "force", "never"} }

// Strategy checks the name of a strategy.
func Strategy(v string) (string, error) {
	v = strings.ToLower(strings.TrimSpace(v))
	if !slices.Contains(Strategies(), v) {
		return "", fmt.Errorf("%q is none of %s", textkit.Truncate(v, 20), strings.Join(Strategies(), ", "))
	}
	return v, nil
}

// Share reads a number from 0 to 1.
func Share(v string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, fmt.Errorf("%q is not a number from 0 to 1", textkit.Truncate(v, 20))
	}
	return f, nil
}

func share(v string) (string, error) {
	f, err := Share(v)
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, err
}

// countTo returns what reads a whole number from 1 to most.
func countTo(most int) func(string) (string, error) {
	return func(v string) (string, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > most {
			return "", fmt.Errorf("%q is not a whole number from 1 to %d", textkit.Truncate(v, 20), most)
		}
		return strconv.Itoa(n), nil
	}
}

// researchKeys are the settings of research, with the names that they have there.
func researchKeys() []Key {
	return []Key{
		{"research.maxRounds", "rounds of looking, in research, at most", countTo(MaxRounds)},
		{"research.maxItemsPerSource", "passages that a search may bring", countTo(MaxItems)},
		{"research.maxParallelQueries", "searches of the memory, and of the web, that go on at a time", countTo(MaxQueries)},
		{"research.forceWebSearch", "search the web though it seems needless: true or false", boolean},
		{"research.enableCaching", "use what searches found a while ago: true or false", boolean},
		{"research.minConfidenceThreshold", "the least score of a passage, from 0 to 1", share},
		{"research.synthesisStrategy", "auto, force (a model answers though nothing was found) or never (quotes are the answer)", oneOf(Strategies()...)},
		{"research.for", "time for research, like 3m", span},
	}
}
