package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ponder/internal/fileio"
)

// keyFileName is beside the user's file. It has lines NAME=KEY. Only the user can read it.
const keyFileName = "keys.env"

// KeyFile returns the path of the user's file with keys, which may not exist. The environment takes
// precedence over it.
func (c *Config) KeyFile() string { return filepath.Join(filepath.Dir(c.File), keyFileName) }

// readKeyFile lets c find variables in the key file, too.
func (c *Config) readKeyFile() error {
	file := c.KeyFile()
	c.read[file] = stampOf(file)
	keys, err := readKeys(file)
	if err != nil {
		return err
	}
	uses := c.keyUses()
	maps.DeleteFunc(keys, func(name, _ string) bool { return uses[name] == "" }) // it has only keys
	if len(keys) == 0 {
		return nil
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		c.Warnings = append(c.Warnings, file+": other users can read the keys: run chmod 600 "+file)
	}
	env := c.env
	c.env = func(name string) string {
		if value := env(name); value != "" {
			return value
		}
		return keys[name]
	}
	return nil
}

func readKeys(file string) (map[string]string, error) {
	text, err := fileio.ReadFile(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	keys := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, key, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && isVariable(name) {
			keys[name] = key
		}
	}
	return keys, nil
}

var variablePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

func isVariable(name string) bool { return variablePattern.MatchString(name) }

// A KeyState describes the variable of a key, without the key.
type KeyState struct {
	Variable string `json:"variable"`
	For      string `json:"for" doc:"the provider or search engine that needs it"`
	Set      bool   `json:"set"`
	From     string `json:"from" doc:"environment, file, or empty"`
}

// searchKeys are the variables of search engines.
var searchKeys = map[string]string{"EXA_API_KEY": "Exa", "BRAVE_API_KEY": "Brave", "TAVILY_API_KEY": "Tavily", "SEARXNG_URL": "SearXNG"}

// keyUses returns the variables of keys with the provider or search engine that needs each.
func (c *Config) keyUses() map[string]string {
	uses := maps.Clone(searchKeys)
	for _, name := range c.ProviderNames() {
		m, _ := findBuiltin(name)
		if p := overrideProvider(m.Provider, c.Providers[name]); p.KeyEnv != "" {
			uses[p.KeyEnv] = name
		}
	}
	return uses
}

// KeyStates returns the variables of all providers and search engines, sorted. getenv reads the
// environment.
func (c *Config) KeyStates(getenv func(string) string) ([]KeyState, error) {
	stored, err := readKeys(c.KeyFile())
	if err != nil {
		return nil, err
	}
	uses := c.keyUses()
	var list []KeyState
	for _, variable := range slices.Sorted(maps.Keys(uses)) {
		s := KeyState{Variable: variable, For: uses[variable]}
		switch {
		case getenv(variable) != "":
			s.Set, s.From = true, "environment"
		case stored[variable] != "":
			s.Set, s.From = true, "file"
		}
		list = append(list, s)
	}
	return list, nil
}

// maxKey bounds a key, in bytes.
const maxKey = 4000

// ErrNotKey reports a variable that has no key of a provider or a search engine.
var ErrNotKey = errors.New("not the variable of a key")

// SaveKey writes a key to the key file, with mode 0600. An empty key removes the line.
func (c *Config) SaveKey(variable, key string) error {
	if c.keyUses()[variable] == "" {
		return fmt.Errorf("%w: a provider names its variable in api_key_env", ErrNotKey)
	}
	key = strings.TrimSpace(key)
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("the key contains a space or is too long: copy it again")
	}
	keys, err := readKeys(c.KeyFile())
	if err != nil {
		return err
	}
	if keys == nil {
		keys = make(map[string]string)
	}
	if keys[variable] = key; key == "" {
		delete(keys, variable)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&b, "%s=%s\n", name, keys[name])
	}
	if err := writePrivate(c.KeyFile(), b.String()); err != nil {
		return fmt.Errorf("%w: %w", ErrWrite, err)
	}
	return nil
}

// writePrivate replaces a file by one that only the user can read.
func writePrivate(file, text string) error {
	if err := fileio.MakeStateDir(filepath.Dir(file)); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".keys-*") // has mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // already renamed on success
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Chmod(0o600), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

// trialKey is the variable of the key of a provider that is only tested.
const trialKey = "PONDER_TRIAL_KEY"

// WithProvider returns a copy of c with another provider and its key. Nothing is stored.
func (c *Config) WithProvider(p Provider) *Config {
	one := *c
	one.Providers = maps.Clone(c.Providers)
	if one.Providers == nil {
		one.Providers = make(map[string]Provider)
	}
	m, _ := findBuiltin(p.Name)
	key, base, env := string(p.Key), p.BaseURL, c.env
	if p.Key = ""; key != "" {
		p.KeyEnv = trialKey
	}
	one.Providers[p.Name] = p
	one.env = func(name string) string {
		switch {
		case name == trialKey:
			return key
		case base != "" && m.urlEnv != "" && name == m.urlEnv:
			return base
		}
		return env(name)
	}
	return &one
}
