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

// A Key is a setting. A part "*" of its name matches any name.
type Key struct {
	Name    string
	Doc     string
	literal func(value string) (string, error)
}

// KeyValues returns the values to offer for a setting, if they are few.
func KeyValues(name string) []string {
	k, ok := findKey(name)
	switch {
	case !ok:
		return nil
	case strings.HasSuffix(k.Name, ".type") && strings.HasPrefix(k.Name, "providers."):
		return types
	}
	var list []string
	for _, v := range []string{"true", "false", "auto"} {
		if _, err := k.literal(v); err == nil {
			list = append(list, v)
		}
	}
	if _, err := k.literal("-"); err == nil { // it takes any text
		return nil
	}
	return list
}

// Pattern returns a name of [Keys] for users: NAME stands for a free part.
func Pattern(name string) string { return strings.ReplaceAll(name, "*", "NAME") }

// InGroup reports whether a setting is the group or below it. Every setting is in the group "".
func InGroup(name, group string) bool {
	return group == "" || name == group || strings.HasPrefix(name, group+".")
}

// IsGroup reports whether a name is a group of settings, such as providers or providers.groq.
func IsGroup(name string) bool {
	parts := splitName(name)
	return len(parts) > 0 && slices.ContainsFunc(Keys(), func(k Key) bool {
		pattern := strings.Split(k.Name, ".")
		return len(pattern) > len(parts) && matchesPattern(pattern[:len(parts)], parts)
	})
}

func Keys() []Key {
	return slices.Concat([]Key{
		{"db", "file of the database", textLiteral},
		{"log_level", "debug, info, warn or error", oneOfLiteral("debug", "info", "warn", "error")},
		{"enable_thinking", "offer models a tool for thoughts during a turn: true, false or auto", switchLiteral},
		{"thinking.retention", "retention of thoughts: keep, a number of days such as 30d, or discard", retentionLiteral},
		{"thinking.redact", "regular expressions of texts to remove from thoughts, in addition to secrets; emails removes e-mail addresses", patternsLiteral},
		{"thinking.templates", "instructions for thinking in a field, such as code-analysis", templatesLiteral},
		{"thinking.per_turn", "maximum thoughts per turn", countLiteral},
		{"thinking.per_minute", "maximum thoughts per minute", countLiteral},
		{"models.fast", "model that answers in conversations", chainLiteral},
		{"models.slow", "model for thoughts, questions and syntheses", chainLiteral},
		{"models.cheap", "model for titles and other small tasks", chainLiteral},
		{"models.frontier", "best model, used rarely", chainLiteral},
		{"models.embed", "embedding model, for search by meaning", chainLiteral},
		{"models.hedge", "roles with a second request if the first is late, such as slow, cheap", rolesLiteral},
		{"models.price.*.input", "USD per million input tokens", dollarsLiteral},
		{"models.price.*.output", "USD per million output tokens", dollarsLiteral},
		{"models.price.*.cache_read", "USD per million input tokens read from a cache", dollarsLiteral},
		{"models.price.*.cache_write", "USD per million input tokens written to a cache", dollarsLiteral},
		{"models.window.*", "tokens of prompt and answer that a model accepts", countLiteral},
		{"providers.*.type", "API of a model server: openai, anthropic, gemini or ollama", oneOfLiteral(types...)},
		{"providers.*.base_url", "its URL, such as http://127.0.0.1:8080/v1", urlLiteral},
		{"providers.*.api_key_env", "environment variable with its API key", variableLiteral},
		{"providers.*.max_concurrent", "upper bound of concurrent requests to it; below it, Ponder adapts to the server", countLiteral},
		{"budgets.for", "duration of a session, such as 5m", durationLiteral},
		{"budgets.tokens", "maximum tokens of a session", countLiteral},
		{"budgets.cost", "maximum cost of a session in US dollars", dollarsLiteral},
		{"budgets.calls", "maximum model calls of a session", countLiteral},
		{"budgets.synthesis_every", "maximum time between syntheses, such as 5m; twenty thoughts also start one", durationLiteral},
		{"chat.rounds", "maximum rounds of tool use before an answer in a conversation", countLiteral},
		{"chat.window", "maximum tokens of a conversation in a request", countLiteral},
		{"deep_think.after", "turns between reflections on a conversation; 0 turns them off", countLiteral},
		{"deep_think.per_hour", "maximum reflections on a conversation per hour", countLiteral},
		{"deep_think.limit", "maximum time of a reflection, such as 120s", durationLiteral},
		{"web.allow", "private hosts and networks to allow, such as wiki.lan, 10.1.0.0/16", hostsLiteral},
		{"web.folder", "folder of pages to search instead of the web", textLiteral},
		{"notify.channels", "how to notify at the end of think and research, such as desktop, webhook; none for no notification", listLiteral},
		{"notify.answer", "include the answer in such notifications: true or false", boolLiteral},
		{"approvals.*", "how often Ponder asks you before a model uses a tool: ask, once in a conversation, or never", oneOfLiteral("ask", "once", "never")},
		{"prompts.*", "additional instructions for a mode", textLiteral},
	}, researchKeys(), mindKeys(), serveKeys(), mcpKeys())
}

func findKey(name string) (Key, bool) {
	parts := splitName(name)
	for _, k := range Keys() {
		if matchesPattern(strings.Split(k.Name, "."), parts) {
			return k, true
		}
	}
	return Key{}, false
}

func matchesPattern(pattern, parts []string) bool {
	return len(pattern) == len(parts) && !slices.ContainsFunc(parts, func(s string) bool { return s == "" }) &&
		slices.EqualFunc(pattern, parts, func(p, s string) bool { return p == "*" || p == s })
}

// splitName returns the parts of a name. models.price.MODEL.input and models.window.MODEL need no
// quotes, though MODEL has dots.
func splitName(name string) []string {
	const price, window = "models.price.", "models.window."
	if rest, ok := strings.CutPrefix(name, window); ok && rest != "" && !strings.HasPrefix(rest, `"`) {
		return []string{"models", "window", rest}
	}
	if rest, ok := strings.CutPrefix(name, price); ok && !strings.HasPrefix(rest, `"`) {
		if i := strings.LastIndexByte(rest, '.'); i > 0 {
			return []string{"models", "price", rest[:i], rest[i+1:]}
		}
	}
	s := &scanner{text: name}
	parts := s.readPath()
	if s.pos < len(name) {
		return nil
	}
	return parts
}

func joinName(parts []string) string { return toml.Key(parts).String() }

// Value returns the value or default of a setting, or "".
func (c *Config) Value(name string) string {
	if value, ok := c.providerDefault(name); ok {
		return value
	}
	if _, set := c.origin[name]; !set {
		if value, ok := defaultValues()[name]; ok {
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
	for _, part := range splitName(name) {
		table, _ := v.(map[string]any)
		v = table[part]
	}
	return showValue(v)
}

// Names returns the set names that match a pattern of [Keys], sorted.
func (c *Config) Names(pattern string) (names []string) {
	for name := range c.origin {
		if matchesPattern(strings.Split(pattern, "."), splitName(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// KnownNames returns the names to offer for a pattern of [Keys]: the set ones, and the settings
// of all providers.
func (c *Config) KnownNames(pattern string) []string {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}
	}
	names := c.Names(pattern)
	if rest, ok := strings.CutPrefix(pattern, "providers.*"); ok {
		for _, p := range c.ProviderNames() {
			names = append(names, "providers."+joinName([]string{p})+rest)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ListedNames returns the names to list for a pattern: those of KnownNames with a value, or all
// without a free part.
func (c *Config) ListedNames(pattern string) []string {
	if !strings.Contains(pattern, "*") {
		return []string{pattern}
	}
	return slices.DeleteFunc(c.KnownNames(pattern), func(name string) bool { return c.Value(name) == "" })
}

func showValue(v any) string {
	switch v := v.(type) {
	case nil, map[string]any:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = showValue(v[i])
		}
		return strings.Join(parts, ", ")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

const maxText = 20_000

func textLiteral(v string) (string, error) {
	if len(v) > maxText || strings.ContainsRune(v, 0) {
		return "", fmt.Errorf("must be text of at most %d bytes", maxText)
	}
	return quoteTOML(v), nil
}

func boolLiteral(v string) (string, error) {
	switch strings.ToLower(v) {
	case "", "true", "yes", "on", "1":
		return "true", nil
	case "false", "no", "off", "0":
		return "false", nil
	}
	return "", fmt.Errorf("%q is not true or false", textkit.Truncate(v, 20))
}

func oneOfLiteral(words ...string) func(string) (string, error) {
	return func(v string) (string, error) {
		if !slices.Contains(words, v) {
			return "", fmt.Errorf("%q is unknown; use one of %s", textkit.Truncate(v, 20), strings.Join(words, ", "))
		}
		return quoteTOML(v), nil
	}
}

func chainLiteral(v string) (string, error) {
	names, err := ParseChain(v)
	if err != nil {
		return "", err
	}
	if len(names) == 1 {
		return quoteTOML(names[0]), nil
	}
	for i := range names {
		names[i] = quoteTOML(names[i])
	}
	return "[" + strings.Join(names, ", ") + "]", nil
}

func rolesLiteral(v string) (string, error) {
	var list []string
	for name := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ',' || r == ' ' }) {
		role, err := oneOfLiteral(string(ponder.Fast), string(ponder.Slow), string(ponder.Cheap), string(ponder.Frontier))(name)
		if err != nil {
			return "", fmt.Errorf("%w; \"\" turns it off", err)
		}
		if !slices.Contains(list, role) {
			list = append(list, role)
		}
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

func hostsLiteral(v string) (string, error) {
	var list []string
	for name := range strings.SplitSeq(v, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if len(name) > maxHost || strings.ContainsAny(name, " @?#\\\"") || strings.Contains(name, "://") {
			return "", fmt.Errorf("%q is not a host or network, such as wiki.lan or 10.1.0.0/16", textkit.Truncate(name, 40))
		}
		list = append(list, quoteTOML(name))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

const maxHost = 260

// Maximal budgets. More is a typing error.
const (
	MaxTokens  = 1_000_000_000
	MaxDollars = 1_000_000
)

func dollarsLiteral(v string) (string, error) {
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

func countLiteral(v string) (string, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(v, "_", ""))
	if err != nil || n < 0 || n > MaxTokens {
		return "", fmt.Errorf("%q is not a whole number from 0 to %d", textkit.Truncate(v, 20), MaxTokens)
	}
	return strconv.Itoa(n), nil
}

func durationLiteral(v string) (string, error) {
	d, err := ParseDuration(v)
	return quoteTOML(Duration(d).String()), err
}

func urlLiteral(v string) (string, error) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("must be a URL such as https://api.groq.com/openai/v1")
	}
	if u.User != nil {
		return "", errors.New("must not contain a password: set the key in the environment")
	}
	return quoteTOML(v), nil
}

func variableLiteral(v string) (string, error) {
	ok := v != "" && len(v) <= maxName && !strings.ContainsFunc(v, func(r rune) bool {
		return r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	if !ok {
		return "", errors.New("must be the name of an environment variable such as GROQ_API_KEY, not the key itself")
	}
	return quoteTOML(v), nil
}

func quoteTOML(v string) string {
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
