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
	"time"

	"ponder"
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

// of returns the models of a role.
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
