// Package config finds out how Ponder is to run: which models, with what
// budgets, from which database.
//
// Three things say so, and the first that does wins: the environment, a
// ponder.toml in the current folder, the user's own file
// ($XDG_CONFIG_HOME/ponder/config.toml). Flags of a command come before all of
// them and are the command's own affair. A ponder.toml belongs to whoever made
// the folder, so it may set models, budgets and prompts and nothing else: of the
// subconscious too.
//
// [Load] reads them. [Config.Resolve] says which models each role has, and
// where that comes from; [Config.Provider] says how to reach one. [Keys], [Set]
// and [Unset] are the settings one by one: they change a line of the user's file
// and leave the others, comments too, as they are.
//
// Keys of providers are in the environment and never in a file. A [Secret] does
// not print.
package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Config is what the files and the environment say. Its zero value works: no
// models but what is found on the machine, and five minutes a session.
type Config struct {
	DB             string              `toml:"db"`              // file with the log; [Load] fills in where it is by default
	LogLevel       string              `toml:"log_level"`       // debug, info, warn, error; no log if empty
	EnableThinking Switch              `toml:"enable_thinking"` // offer models a place for thoughts in mid-turn: see [Config.Thinks]
	Thinking       Thinking            `toml:"thinking"`
	Models         Models              `toml:"models"`
	Providers      map[string]Provider `toml:"providers"`
	Budgets        Budgets             `toml:"budgets"`
	Prompts        map[string]string   `toml:"prompts"` // see [Config.Prompt]
	Web            Web                 `toml:"web"`
	Chat           Chat                `toml:"chat"`
	DeepThink      DeepThink           `toml:"deep_think"`
	Research       Research            `toml:"research"`
	Mind           Mind                `toml:"mind"`
	Serve          Serve               `toml:"serve"`
	MCP            MCP                 `toml:"mcp"`

	Search Search `toml:"-"` // from the environment alone
	Token  Secret `toml:"-"` // that requests to a server must carry

	// File is the user's file, there or not.
	File string `toml:"-"`
	// Warnings are what was read and not obeyed: one line each, with file and
	// line number.
	Warnings []string `toml:"-"`

	env    func(string) string
	origin map[string]string // where a key is set: a file's name or "environment"
}

// Models says which models there are for each role.
type Models struct {
	Fast     Chain                   `toml:"fast"`
	Slow     Chain                   `toml:"slow"`
	Cheap    Chain                   `toml:"cheap"`
	Frontier Chain                   `toml:"frontier"`
	Embed    Chain                   `toml:"embed"`
	Hedge    []ponder.Role           `toml:"hedge"` // whose slow calls are made a second time, if nobody looks on
	Deep     string                  `toml:"-"`     // the slow model of deep_think; from the environment alone
	Price    map[string]llm.Override `toml:"price"` // by full name, or "provider/*"; before the built-in table
}

func (m Models) of(role ponder.Role) Chain {
	switch role {
	case ponder.Fast:
		return m.Fast
	case ponder.Slow:
		return m.Slow
	case ponder.Cheap:
		return m.Cheap
	case ponder.Frontier:
		return m.Frontier
	case ponder.Embed:
		return m.Embed
	}
	return nil
}

// A Chain is a model's full name, and those that are asked when it fails.
type Chain []string

// A Provider says how to reach models.
type Provider struct {
	Type          string `toml:"type"`           // openai, anthropic, gemini or ollama
	BaseURL       string `toml:"base_url"`       // the provider's own if empty
	KeyEnv        string `toml:"api_key_env"`    // the variable that has the key
	MaxConcurrent int    `toml:"max_concurrent"` // requests in flight; zero leaves it to the program

	Name string `toml:"-"`
	Key  Secret `toml:"-"`
}

// Budgets are the limits of a session that says no others. Zero is none.
type Budgets struct {
	For            Duration `toml:"for"`
	Tokens         int      `toml:"tokens"`
	Cost           float64  `toml:"cost"` // US dollars
	Calls          int      `toml:"calls"`
	SynthesisEvery Duration `toml:"synthesis_every"`
}

// A Duration is written like "1h30m".
type Duration time.Duration

// Web says what may be read of the web.
type Web struct {
	Allow  []string `toml:"allow"`  // hosts and networks that are read though they are private: "wiki.lan", "10.1.0.0/16"
	Folder string   `toml:"folder"` // pages that are searched as the web is, where there is no network
}

// Chat says how conversations are held. What is zero is left to the program.
type Chat struct {
	Rounds int `toml:"rounds"` // of tools in a turn
	Window int `toml:"window"` // tokens that the model is shown at most
}

// DeepThink says when a conversation is reflected on. What is zero is left to the
// program.
type DeepThink struct {
	After   *int     `toml:"after"`    // turns without a reflection, then one is made unbidden; 0: never
	PerHour int      `toml:"per_hour"` // reflections at most
	Limit   Duration `toml:"limit"`    // of time for one
}

// Search has what search engines of the web want.
type Search struct {
	Exa, Brave, Tavily Secret
	SearXNG            string // a URL
}

// A Secret does not print, whatever the verb; convert it to use it.
type Secret string

// String says whether there is one.
func (s Secret) String() string {
	if s == "" {
		return "not set"
	}
	return "set"
}

// GoString implements [fmt.GoStringer].
func (s Secret) GoString() string { return s.String() }

// MarshalText implements [encoding.TextMarshaler].
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Prompt returns what the user wants a mode told beside its own prompt, or "".
func (c *Config) Prompt(mode string) string { return c.Prompts[mode] }

// Origin says where a key is set: the name of a file, "environment", or
// "default".
func (c *Config) Origin(key string) string {
	if from, ok := c.origin[key]; ok {
		return from
	}
	return "default"
}

// defaults are what settings are that nothing sets, where the program has a value of its
// own: see [ponder/mode/chat.Options], [ponder/mode/deep.Options],
// [ponder/mode/research.Options] and package [ponder/mode/session]. Of others nothing is nothing, or no limit.
func defaults() map[string]string {
	return map[string]string{
		"thinking.retention":      "keep",
		"thinking.per_turn":       "10",
		"thinking.per_minute":     "20",
		"budgets.for":             "5m",
		"budgets.synthesis_every": "5m",
		"chat.rounds":             "8",
		"chat.window":             "up to 100000", // by the model
		"deep_think.after":        "5",
		"deep_think.per_hour":     "12",
		"deep_think.limit":        "2m",
		"serve.keep_exchanges":    "24h",

		"research.maxRounds":              "5",
		"research.maxItemsPerSource":      "10",
		"research.maxParallelQueries":     "3",
		"research.forceWebSearch":         "false",
		"research.enableCaching":          "true",
		"research.minConfidenceThreshold": "0",
		"research.synthesisStrategy":      "auto",
		"research.for":                    "3m",

		"mind.every":          Duration(MindEvery).String(),
		"mind.cooldown":       Duration(MindCooldown).String(),
		"mind.tokens_per_day": strconv.Itoa(MindTokens),
		"mind.cost_per_day":   strconv.FormatFloat(MindDollars, 'f', -1, 64),
		"mind.quiet":          string(MindQuiet),
		"mind.night":          string(MindNight),
		"mind.web":            "false",
		"mind.feed":           "true",

		"serve.listen": ServeListen,
		"serve.mind":   "false",
	}
}

// UnmarshalTOML reads a name or a list of names.
func (c *Chain) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	*c = nil
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not the name of a model", v)
		}
		if _, _, err := SplitModel(name); err != nil {
			return err
		}
		*c = append(*c, name)
	}
	return nil
}

// ParseChain reads names between commas.
func ParseChain(text string) (Chain, error) {
	var c Chain
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if _, _, err := SplitModel(name); err != nil {
			return nil, err
		}
		c = append(c, name)
	}
	return c, nil
}

// maxName bounds the full name of a model, in bytes.
const maxName = 200

// SplitModel returns the provider of a model's full name, and the provider's
// own name for it.
func SplitModel(full string) (provider, id string, err error) {
	provider, id, ok := strings.Cut(full, "/")
	if !ok || provider == "" || id == "" || len(full) > maxName || strings.ContainsFunc(full, unprintable) {
		return "", "", fmt.Errorf("%q is not the name of a model: write provider/model, such as ollama/llama3.1", textkit.Truncate(full, 60))
	}
	return provider, id, nil
}

func unprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' }

// UnmarshalText reads "1h30m".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns the duration without parts that are zero: "5m", not "5m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ErrTooLong is in the error of a duration that is longer than can be counted.
var ErrTooLong = errors.New("is too long")

// aDuration matches what is written like a duration, however long it is.
var aDuration = regexp.MustCompile(`^\+?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$`)

// ParseDuration reads a positive duration and says how to write one.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil && aDuration.MatchString(text) {
		return 0, fmt.Errorf("%s %w", textkit.Truncate(text, 20), ErrTooLong)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a length of time: write it like 30s, 5m or 1h30m", textkit.Truncate(text, 20))
	}
	if d <= 0 {
		return 0, errors.New("a length of time must be more than zero")
	}
	return d, nil
}
