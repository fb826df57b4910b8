// Package config reads the configuration of Ponder: models, budgets, database and more.
//
// The first of these sources that sets a value wins: the environment, a ponder.toml in the
// current folder, the user's own file ($XDG_CONFIG_HOME/ponder/config.toml). Commands apply
// their flags over the result. A ponder.toml belongs to the author of the folder, so it may
// set only models, budgets and prompts, and the same of the subconscious.
//
// [Load] reads the sources. [Config.Resolve] chooses the models of each role;
// [Config.Provider] describes how to reach one. [Keys], [Set] and [Unset] edit single
// settings in the user's file and keep all other lines and comments.
//
// Keys of providers are in the environment, or in the user's key file: see [Config.KeyFile]. A [Secret]
// does not print.
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

// A Config is the merged configuration. Its zero value works: it uses models found on the
// machine, and sessions of five minutes.
type Config struct {
	DB             string              `toml:"db"`        // file of the log; [Load] sets the default
	LogLevel       string              `toml:"log_level"` // debug, info, warn, error; empty: no log
	EnableThinking Switch              `toml:"enable_thinking"`
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
	Notify         Notice              `toml:"notify"`
	Approvals      map[string]string   `toml:"approvals"` // by tool: ask, once or never; see tool/approval

	Search Search `toml:"-"` // only from the environment
	Token  Secret `toml:"-"` // required from clients of the server

	// File is the path of the user's file, which may not exist.
	File string `toml:"-"`
	// Warnings list ignored settings: one line each, with file and line number.
	Warnings []string `toml:"-"`

	env    func(string) string
	origin map[string]string
	read   map[string]fileStamp // by path
}

// Notice is the notification at the end of work that a command starts without --notify.
type Notice struct {
	Channels []string `toml:"channels"` // see package notice
	Answer   bool     `toml:"answer"`   // include the answer
}

type Models struct {
	Fast     Chain                   `toml:"fast"`
	Slow     Chain                   `toml:"slow"`
	Cheap    Chain                   `toml:"cheap"`
	Frontier Chain                   `toml:"frontier"`
	Embed    Chain                   `toml:"embed"`
	Hedge    []ponder.Role           `toml:"hedge"`  // roles whose slow calls run a second time, unless a user watches
	Deep     string                  `toml:"-"`      // the slow model of deep_think; only from the environment
	Price    map[string]llm.Override `toml:"price"`  // by full name, or "provider/*"; overrides the built-in table
	Window   map[string]int          `toml:"window"` // by full name: tokens of prompt and answer
}

func (m Models) roleChain(role ponder.Role) Chain {
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

// A Chain is a model's full name followed by its fallbacks.
type Chain []string

type Provider struct {
	Type          string `toml:"type"`
	BaseURL       string `toml:"base_url"`       // empty: the provider's own
	KeyEnv        string `toml:"api_key_env"`    // the variable with the key
	MaxConcurrent int    `toml:"max_concurrent"` // requests in flight; zero: the default

	Name string `toml:"-"`
	Key  Secret `toml:"-"`
}

// Budgets are the default limits of a session. Zero is no limit.
type Budgets struct {
	For            Duration `toml:"for"`
	Tokens         int      `toml:"tokens"`
	Cost           float64  `toml:"cost"` // US dollars
	Calls          int      `toml:"calls"`
	SynthesisEvery Duration `toml:"synthesis_every"`
}

type Duration time.Duration

type Web struct {
	Allow  []string `toml:"allow"`  // private hosts and networks that may be read: "wiki.lan", "10.1.0.0/16"
	Folder string   `toml:"folder"` // pages to search without a network
}

// Chat configures conversations. Zero values are defaults.
type Chat struct {
	Rounds int `toml:"rounds"`
	Window int `toml:"window"` // maximal context in tokens
}

// DeepThink configures reflections. Zero values are defaults.
type DeepThink struct {
	After   *int     `toml:"after"` // turns until an unrequested reflection; 0: never
	PerHour int      `toml:"per_hour"`
	Limit   Duration `toml:"limit"`
}

type Search struct {
	Exa, Brave, Tavily Secret
	SearXNG            string
}

// A Secret does not print with any verb; convert it to use it.
type Secret string

// String reports only whether the secret is set.
func (s Secret) String() string {
	if s == "" {
		return "not set"
	}
	return "set"
}

func (s Secret) GoString() string { return s.String() }

func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Prompt returns the user's addition to a mode's prompt, or "".
func (c *Config) Prompt(mode string) string { return c.Prompts[mode] }

// Origin returns the source of a key: a file name, "environment" or "default".
func (c *Config) Origin(key string) string {
	if from, ok := c.origin[key]; ok {
		return from
	}
	return "default"
}

// defaultValues returns the values of unset settings that packages define: [ponder/mode/chat],
// [ponder/mode/deep], [ponder/mode/research] and [ponder/mode/session]. Other unset settings
// are empty or unlimited.
func defaultValues() map[string]string {
	return map[string]string{
		"thinking.retention":      "keep",
		"thinking.per_turn":       "10",
		"thinking.per_minute":     "20",
		"budgets.for":             "5m",
		"budgets.synthesis_every": "5m",
		"chat.rounds":             "8",
		"notify.channels":         "none",
		"chat.window":             "up to 100000", // depends on the model
		"deep_think.after":        "5",
		"deep_think.per_hour":     "12",
		"deep_think.limit":        "2m",
		"serve.keep_exchanges":    "24h",
		"serve.remote_content":    "sources",

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

		"serve.listen": ServeListen, "serve.request_memory": strconv.Itoa(ServeMemory),
		"serve.mind": "false",
	}
}

func (c *Chain) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	*c = nil
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return fmt.Errorf("%v is not a model name", v)
		}
		if _, _, err := SplitModel(name); err != nil {
			return err
		}
		*c = append(*c, name)
	}
	return nil
}

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

// SplitModel splits a full name into the provider and the provider's name of the model.
func SplitModel(full string) (provider, id string, err error) {
	provider, id, ok := strings.Cut(full, "/")
	if !ok || provider == "" || id == "" || len(full) > maxName || strings.ContainsFunc(full, isUnprintable) {
		return "", "", fmt.Errorf("%q is not a model name: use provider/model, such as ollama/llama3.1", textkit.Truncate(full, 60))
	}
	return provider, id, nil
}

func isUnprintable(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' }

func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	*d = Duration(v)
	return err
}

func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String omits zero parts: "5m", not "5m0s".
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

// ErrTooLong is the cause for a duration beyond the range of [time.Duration].
var ErrTooLong = errors.New("is too long")

// durationPattern matches the syntax of durations of any length.
var durationPattern = regexp.MustCompile(`^\+?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$`)

// ParseDuration parses a positive duration. Its error explains the syntax.
func ParseDuration(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil && durationPattern.MatchString(text) {
		return 0, fmt.Errorf("%s %w", textkit.Truncate(text, 20), ErrTooLong)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: use a form such as 30s, 5m or 1h30m", textkit.Truncate(text, 20))
	}
	if d <= 0 {
		return 0, errors.New("a duration must be more than zero")
	}
	return d, nil
}
