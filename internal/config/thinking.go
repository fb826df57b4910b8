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

// A Switch is "true", "false" or "auto"; empty means "false".
type Switch string

// Auto depends on the model.
const Auto Switch = "auto"

func (s *Switch) UnmarshalTOML(v any) error {
	literal, err := switchLiteral(fmt.Sprint(v))
	*s = Switch(strings.Trim(literal, `"`))
	return err
}

func (s Switch) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Switch) String() string {
	if s == "" {
		return "false"
	}
	return string(s)
}

// switchLiteral parses a boolean or "auto"; empty means true.
func switchLiteral(v string) (string, error) {
	if strings.EqualFold(v, string(Auto)) {
		return quoteTOML(string(Auto)), nil
	}
	literal, err := boolLiteral(v)
	if err != nil {
		return "", fmt.Errorf("%q is unknown; use true, false or auto", textkit.Truncate(v, 20))
	}
	return literal, nil
}

// Thinking configures the thoughts of models within turns. Zero numbers are defaults.
type Thinking struct {
	Retention string   `toml:"retention"` // see [Thinking.Rule]
	Redact    Patterns `toml:"redact"`    // see [redact.Options]
	Templates []string `toml:"templates"` // names; see package tool/think
	PerTurn   int      `toml:"per_turn"`
	PerMinute int      `toml:"per_minute"`
}

func (t Thinking) Rule() (retention.Rule, error) {
	r, err := retention.Parse(t.Retention)
	if err != nil {
		return r, fmt.Errorf("thinking.retention: %w", err)
	}
	return r, nil
}

// Patterns are regular expressions, separated by commas. A comma outside brackets within one is
// stored as \x2c.
type Patterns []string

func (p *Patterns) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) > redact.MaxPatterns {
		return fmt.Errorf("%d patterns; the maximum is %d", len(list), redact.MaxPatterns)
	}
	*p = nil
	for _, v := range list {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a regular expression", v)
		}
		if err := redact.Check(text); err != nil {
			return err
		}
		*p = append(*p, strings.Join(splitPatterns(text), `\x2c`))
	}
	return nil
}

func patternsLiteral(v string) (string, error) {
	var list []string
	for _, p := range splitPatterns(v) {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if err := redact.Check(p); err != nil {
			return "", err
		}
		list = append(list, quoteTOML(p))
	}
	if len(list) > redact.MaxPatterns {
		return "", fmt.Errorf("%d patterns; the maximum is %d", len(list), redact.MaxPatterns)
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// splitPatterns splits text at commas outside brackets and quotes of a regular expression.
func splitPatterns(text string) (list []string) {
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

func templatesLiteral(v string) (string, error) {
	var list []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if len(name) > maxTemplate || strings.ContainsFunc(name, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
			return "", errors.New("a template name has lower-case letters, digits and hyphens, such as code-analysis")
		}
		list = append(list, quoteTOML(name))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// maxTemplate bounds the name of a template, in bytes.
const maxTemplate = 64

// retentionLiteral checks a retention rule.
func retentionLiteral(v string) (string, error) {
	r, err := retention.Parse(v)
	return quoteTOML(r.String()), err
}

// ShouldThink reports whether a model gets the tool think: as enable_thinking says; auto excludes
// models that reason natively.
func (c *Config) ShouldThink(model string, prices llm.Prices) bool {
	switch c.EnableThinking {
	case "true":
		return true
	case Auto:
		return !ReasonsByDefault(model, prices)
	}
	return false
}

// reasoningDefaults tells for prefixes of model names whether the models reason by default, by their
// makers' documentation of November 2026. The longest prefix counts.
//
//	claude      off by default until 4.8; on from 5
//	gpt-5.1..4  can, and by default do not; gpt-5 itself and those from 5.5 on do
//	o1, o3, o4  always
//	gemini      from 2.5 on, except flash-lite of 2.5
//	others      names of models that only reason
func reasoningDefaults() map[string]bool {
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

// ReasonsByDefault reports whether a model reasons by default: by the table of prefixes, else by the
// table of prices, else by its name.
func ReasonsByDefault(model string, prices llm.Prices) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	best, reasons := "", false
	for prefix, r := range reasoningDefaults() {
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

// Research configures research. Zero values are defaults.
type Research struct {
	MaxRounds              int      `toml:"maxRounds"`
	MaxItemsPerSource      int      `toml:"maxItemsPerSource"`  // passages of a search, 1 to [MaxItems]
	MaxParallelQueries     int      `toml:"maxParallelQueries"` // per source, 1 to [MaxQueries]
	ForceWebSearch         bool     `toml:"forceWebSearch"`
	EnableCaching          *bool    `toml:"enableCaching"`          // accept cached results
	MinConfidenceThreshold float64  `toml:"minConfidenceThreshold"` // minimal score of a passage, 0 to 1
	SynthesisStrategy      string   `toml:"synthesisStrategy"`      // one of [Strategies]
	For                    Duration `toml:"for"`
}

const (
	MaxRounds  = 20
	MaxItems   = 40
	MaxQueries = 10
)

// Strategies returns the synthesis strategies: force lets a model answer even without findings;
// never only quotes.
func Strategies() []string { return []string{"auto", "force", "never"} }

func Strategy(v string) (string, error) {
	v = strings.ToLower(strings.TrimSpace(v))
	if !slices.Contains(Strategies(), v) {
		return "", fmt.Errorf("%q is unknown; use one of %s", textkit.Truncate(v, 20), strings.Join(Strategies(), ", "))
	}
	return v, nil
}

func Share(v string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > 1 {
		return 0, fmt.Errorf("%q is not a number from 0 to 1", textkit.Truncate(v, 20))
	}
	return f, nil
}

func shareLiteral(v string) (string, error) {
	f, err := Share(v)
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, err
}

// countUpTo returns a parser of whole numbers from 1 to most.
func countUpTo(limit int) func(string) (string, error) {
	return func(v string) (string, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > limit {
			return "", fmt.Errorf("%q is not a whole number from 1 to %d", textkit.Truncate(v, 20), limit)
		}
		return strconv.Itoa(n), nil
	}
}

func researchKeys() []Key {
	return []Key{
		{"research.maxRounds", "maximum search rounds of research", countUpTo(MaxRounds)},
		{"research.maxItemsPerSource", "maximum passages per search", countUpTo(MaxItems)},
		{"research.maxParallelQueries", "maximum concurrent searches of the memory, and of the web", countUpTo(MaxQueries)},
		{"research.forceWebSearch", "search the web even if it seems unnecessary: true or false", boolLiteral},
		{"research.enableCaching", "use cached search results: true or false", boolLiteral},
		{"research.minConfidenceThreshold", "minimum score of a passage, from 0 to 1", shareLiteral},
		{"research.synthesisStrategy", "auto, force (a model answers even without findings) or never (quotes are the answer)", oneOfLiteral(Strategies()...)},
		{"research.for", "duration of research, such as 3m", durationLiteral},
	}
}
