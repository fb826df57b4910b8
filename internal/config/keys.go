package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/url"
	"ponder/internal/textkit"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"ponder"
)

// A Key is a setting. A part "*" of its name stands for any name.
type Key struct {
	Name    string
	Doc     string
	literal func(value string) (string, error)
}

func Keys() []Key {
	return slices.Concat([]Key{
		{"db", "file with the log", text},
		{"log_level", "debug, info, warn or error", oneOf("debug", "info", "warn", "error")},
		{"enable_thinking", "give models a place for thoughts in mid-turn: true, false, or auto", switched},
		{"thinking.retention", "how long thoughts are kept: keep, a number of days such as 30d, or discard", retain},
		{"thinking.redact", "regular expressions of what is taken out of thoughts, beside secrets; emails for all e-mail addresses", patterns},
		{"thinking.templates", "how to think in a field, such as code-analysis", templates},
		{"thinking.per_turn", "thoughts in a turn at most", count},
		{"thinking.per_minute", "thoughts in a minute at most", count},
		{"models.fast", "talks", chain},
		{"models.slow", "thinks: all thoughts, questions and syntheses", chain},
		{"models.cheap", "titles and other chores", chain},
		{"models.frontier", "the best there is, asked seldom", chain},
		{"models.embed", "turns text into vectors", chain},
		{"models.hedge", "roles whose calls may be made twice if one is slow to begin, such as slow, cheap", hedged},
		{"models.price.*.input", "USD per million tokens read", dollars},
		{"models.price.*.output", "USD per million tokens written", dollars},
		{"models.price.*.cache_read", "USD per million tokens read from a cache", dollars},
		{"models.price.*.cache_write", "USD per million tokens written to a cache", dollars},
		{"providers.*.type", "openai, anthropic, gemini or ollama", oneOf(types...)},
		{"providers.*.base_url", "where it is", link},
		{"providers.*.api_key_env", "the variable that has its key", variable},
		{"providers.*.max_concurrent", "requests in flight at most", count},
		{"budgets.for", "how long a session thinks, like 5m", span},
		{"budgets.tokens", "tokens a session may use", count},
		{"budgets.cost", "US dollars a session may cost", dollars},
		{"budgets.calls", "model calls a session may make", count},
		{"budgets.synthesis_every", "time between syntheses at most, like 5m; twenty thoughts call for one too", span},
		{"chat.rounds", "times a model may use tools before it answers, in a conversation", count},
		{"chat.window", "tokens that a model is shown of a conversation at most", count},
		{"deep_think.after", "reflect on a conversation after so many turns without; 0 is never", count},
		{"deep_think.per_hour", "reflections on a conversation in an hour at most", count},
		{"deep_think.limit", "time for a reflection at most, like 120s", span},
		{"web.allow", "hosts and networks to read though they are private, such as wiki.lan, 10.1.0.0/16", hosts},
		{"web.folder", "folder of pages to search as the web is searched", text},
		{"prompts.*", "what a mode is told beside its own prompt", text},
	}, researchKeys(), mindKeys(), serveKeys(), mcpKeys())
}

func find(name string) (Key, bool) {
	parts := split(name)
	for _, k := range Keys() {
		if matches(strings.Split(k.Name, "."), parts) {
			return k, true
		}
	}
	return Key{}, false
}

func matches(pattern, parts []string) bool {
	return len(pattern) == len(parts) && !slices.ContainsFunc(parts, func(s string) bool { return s == "" }) &&
		slices.EqualFunc(pattern, parts, func(p, s string) bool { return p == "*" || p == s })
}

// split returns the parts of a name. models.price.MODEL.input needs no quotes, though MODEL has
// dots.
func split(name string) []string {
	const price = "models.price."
	if rest, ok := strings.CutPrefix(name, price); ok && !strings.HasPrefix(rest, `"`) {
		if i := strings.LastIndexByte(rest, '.'); i > 0 {
			return []string{"models", "price", rest[:i], rest[i+1:]}
		}
	}
	s := &scanner{text: name}
	parts := s.path()
	if s.pos < len(name) {
		return nil
	}
	return parts
}

func join(parts []string) string { return toml.Key(parts).String() }

// Value returns the value or default of a setting, or "".
func (c *Config) Value(name string) string {
	if _, set := c.origin[name]; !set {
		if value, ok := defaults()[name]; ok {
			return value
		}
	}
	var out bytes.Buffer
	var tree map[string]any
	if err := toml.NewEncoder(&out).Encode(c); err != nil {
		return ""
	}
	if _, err := toml.Decode(out.String(), &tree); err != nil {
		return ""
	}
	var v any = tree
	for _, part := range split(name) {
		table, _ := v.(map[string]any)
		v = table[part]
	}
	return show(v)
}

// Names returns the set names that match a pattern of [Keys], sorted.
func (c *Config) Names(pattern string) (names []string) {
	for name := range c.origin {
		if matches(strings.Split(pattern, "."), split(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func show(v any) string {
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return strings.Join(parts, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

const maxText = 20_000

func text(v string) (string, error) {
	if len(v) > maxText || strings.ContainsRune(v, 0) {
		return "", fmt.Errorf("must be text of at most %d bytes", maxText)
	}
	return quote(v), nil
}

func boolean(v string) (string, error) {
	switch strings.ToLower(v) {
	case "", "true", "yes", "on", "1":
		return "true", nil
	case "false", "no", "off", "0":
		return "false", nil
	}
	return "", fmt.Errorf("%q is neither true nor false", textkit.Truncate(v, 20))
}

func oneOf(words ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !slices.Contains(words, v) {
			return "", fmt.Errorf("%q is none of %s", textkit.Truncate(v, 20), strings.Join(words, ", "))
		}
		return quote(v), nil
	}
}

func chain(v string) (string, error) {
	names, err := ParseChain(v)
	if err != nil {
		return "", err
	}
	if len(names) == 1 {
		return quote(names[0]), nil
	}
	for i := range names {
		names[i] = quote(names[i])
	}
	return "[" + strings.Join(names, ", ") + "]", nil
}

func hedged(v string) (string, error) {
	var list []string
	for name := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == ' ' }) {
		role, err := oneOf(string(ponder.Fast), string(ponder.Slow), string(ponder.Cheap), string(ponder.Frontier))(name)
		if err != nil {
			return "", fmt.Errorf("%w; \"\" turns it off", err)
		}
		if !slices.Contains(list, role) {
			list = append(list, role)
		}
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

func hosts(v string) (string, error) {
	var list []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if len(name) > maxHost || strings.ContainsAny(name, " @?#\\\"") || strings.Contains(name, "://") {
			return "", fmt.Errorf("%q is no host or network, such as wiki.lan or 10.1.0.0/16", textkit.Truncate(name, 40))
		}
		list = append(list, quote(name))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

const maxHost = 260

// Maximal budgets. More is a typing error.
const (
	MaxTokens  = 1_000_000_000
	MaxDollars = 1_000_000
)

func dollars(v string) (string, error) {
	f, err := strconv.ParseFloat(strings.TrimPrefix(v, "$"), 64)
	if err != nil || math.IsNaN(f) || f < 0 || f > MaxDollars {
		return "", fmt.Errorf("%q is not an amount of US dollars, such as 1.75", textkit.Truncate(v, 20))
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, nil
}

func count(v string) (string, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(v, "_", ""))
	if err != nil || n < 0 || n > MaxTokens {
		return "", fmt.Errorf("%q is not a whole number from 0 to %d", textkit.Truncate(v, 20), MaxTokens)
	}
	return strconv.Itoa(n), nil
}

func span(v string) (string, error) {
	d, err := ParseDuration(v)
	return quote(Duration(d).String()), err
}

func link(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("must be an address such as https://api.groq.com/openai/v1")
	}
	if u.User != nil {
		return "", errors.New("must not have a password in it: keys are in the environment")
	}
	return quote(v), nil
}

func variable(v string) (string, error) {
	ok := v != "" && len(v) <= maxName && !strings.ContainsFunc(v, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if !ok {
		return "", errors.New("must be the name of a variable such as GROQ_API_KEY, not the key itself")
	}
	return quote(v), nil
}

func quote(v string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(v, "\ufffd") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
