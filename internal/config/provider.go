package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ponder"
	"ponder/internal/netaddr"
	"ponder/internal/textkit"
	"ponder/llm"
)

var types = []string{"openai", "anthropic", "gemini", "ollama"}

var ErrNoKey = errors.New("no key")

// ErrUnknownProvider is the cause for an undescribed provider.
var ErrUnknownProvider = errors.New("unknown provider")

// ErrInvalidSetting is the cause for an invalid description.
var ErrInvalidSetting = errors.New("invalid setting")

// A settingError is [ErrInvalidSetting] with a message.
type settingError struct{ error }

func (w settingError) Unwrap() error      { return w.error }
func (settingError) Is(target error) bool { return target == ErrInvalidSetting }

// A builtinProvider is a provider that needs no file.
type builtinProvider struct {
	Provider
	urlEnv string
	local  bool
	models map[ponder.Role]string
}

// builtinProviders returns the built-in providers. Without a choice of models, the first with a key is
// used. The models are of October 2026; openrouter's are older, since it lists new names late.
func builtinProviders() []builtinProvider {
	return []builtinProvider{
		{
			Provider: Provider{Name: "openai", Type: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
			urlEnv:   "OPENAI_BASE_URL",
			models:   roleModels("gpt-6-luna", "gpt-6.1-sol", "gpt-6-luna", "gpt-6-astra", "text-embedding-3-small"),
		},
		{
			Provider: Provider{Name: "anthropic", Type: "anthropic", BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY"},
			urlEnv:   "ANTHROPIC_BASE_URL",
			models:   roleModels("claude-haiku-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5", ""),
		},
		{
			Provider: Provider{Name: "gemini", Type: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta", KeyEnv: "GEMINI_API_KEY"},
			models:   roleModels("gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.1-flash-lite", "gemini-3.1-pro-preview", "gemini-embedding-001"),
		},
		{
			Provider: Provider{Name: "groq", Type: "openai", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY"},
			models:   roleModels("openai/gpt-oss-20b", "openai/gpt-oss-120b", "openai/gpt-oss-20b", "openai/gpt-oss-120b", ""),
		},
		{
			Provider: Provider{Name: "zai", Type: "openai", BaseURL: "https://api.z.ai/api/paas/v4", KeyEnv: "ZAI_API_KEY"},
			models:   roleModels("glm-5.3-flash", "glm-5.3", "glm-5.3-flash", "glm-5.3", ""),
		},
		{
			Provider: Provider{Name: "openrouter", Type: "openai", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY"},
			models:   roleModels("anthropic/claude-haiku-4.5", "anthropic/claude-sonnet-5", "anthropic/claude-haiku-4.5", "anthropic/claude-opus-5", ""),
		},
		{
			Provider: Provider{Name: "ollama", Type: "ollama", BaseURL: "http://127.0.0.1:11434", KeyEnv: "OLLAMA_API_KEY"},
			urlEnv:   "OLLAMA_HOST", local: true,
		},
	}
}

func roleModels(fast, slow, cheap, frontier, embed string) map[ponder.Role]string {
	return map[ponder.Role]string{ponder.Fast: fast, ponder.Slow: slow, ponder.Cheap: cheap, ponder.Frontier: frontier, ponder.Embed: embed}
}

func findBuiltin(name string) (builtinProvider, bool) {
	all := builtinProviders()
	i := slices.IndexFunc(all, func(m builtinProvider) bool { return m.Name == name })
	if i < 0 {
		return builtinProvider{}, false
	}
	return all[i], true
}

// Provider returns the description of a provider. Its errors include ErrUnknownProvider and
// ErrNoKey.
func (c *Config) Provider(name string) (Provider, error) {
	m, known := findBuiltin(name)
	p := m.Provider
	if own, ok := c.Providers[name]; ok {
		p, known = overrideProvider(p, own), true
	}
	if !known {
		return Provider{}, fmt.Errorf("%w %q: use %s, or add [providers.%s] to %s",
			ErrUnknownProvider, textkit.Truncate(name, 40), strings.Join(c.ProviderNames(), ", "), textkit.Truncate(name, 40), c.File)
	}
	p.Name = name
	says := "base URL"
	if env := c.env; m.urlEnv != "" && env(m.urlEnv) != "" {
		p.BaseURL, says = trimQuotes(env(m.urlEnv)), m.urlEnv
	}
	if p.BaseURL == "" {
		m, _ := findBuiltin(p.Type)
		p.BaseURL = m.BaseURL
	}
	given := p.BaseURL
	if p.Type == "ollama" {
		p.BaseURL = ollamaURL(given)
	}
	if !slices.Contains(types, p.Type) {
		return Provider{}, settingError{fmt.Errorf("provider %s has no type: add type = \"openai\" (or anthropic, gemini, ollama) to [providers.%s] in %s", name, name, c.File)}
	}
	if _, err := urlLiteral(p.BaseURL); err != nil {
		return Provider{}, settingError{fmt.Errorf("provider %s: %s %q: %w", name, says, textkit.Truncate(stripPassword(given), 80), err)}
	}
	if p.KeyEnv != "" {
		p.Key = cleanKey(c.env(p.KeyEnv))
	}
	if strings.IndexFunc(string(p.Key), unicode.IsControl) >= 0 {
		return Provider{}, fmt.Errorf("%s: %w: %s contains a line break or another invalid character", name, ErrNoKey, p.KeyEnv)
	}
	mustHave := c.Providers[name].KeyEnv != "" || p.BaseURL == m.BaseURL && !m.local // a private server may need no key
	if p.Key == "" && p.KeyEnv != "" && mustHave {
		return Provider{}, fmt.Errorf("%s: %w: set %s", name, ErrNoKey, p.KeyEnv)
	}
	return p, nil
}

// providerDefault returns the value of a setting of a provider that the file does not set, or that
// the environment overrides.
func (c *Config) providerDefault(name string) (string, bool) {
	parts := splitName(name)
	if len(parts) != 3 || parts[0] != "providers" {
		return "", false
	}
	if parts[2] == "max_concurrent" && c.Providers[parts[1]].MaxConcurrent == 0 {
		return "up to " + strconv.Itoa(llm.MaxConcurrent), true
	}
	m, ok := findBuiltin(parts[1])
	from, set := c.origin[name]
	switch {
	case !ok || set && from != m.urlEnv:
		return "", false
	case set:
		return stripPassword(c.env(m.urlEnv)), true
	}
	return map[string]string{"type": m.Type, "base_url": m.BaseURL, "api_key_env": m.KeyEnv}[parts[2]], true
}

// overrideProvider returns p with the fields that own sets.
func overrideProvider(p, own Provider) Provider {
	if own.Type != "" {
		p.Type = own.Type
	}
	if own.BaseURL != "" {
		p.BaseURL = own.BaseURL
	}
	if own.KeyEnv != "" {
		p.KeyEnv = own.KeyEnv
	}
	p.MaxConcurrent = own.MaxConcurrent
	return p
}

func stripPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	if strings.Contains(address, "@") {
		return "(not a URL)"
	}
	return address
}

// IsLocal reports whether a server runs on this machine, or is an Ollama of the user.
func (p Provider) IsLocal() bool {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return false
	}
	host := u.Hostname()
	a, err := netip.ParseAddr(host)
	return netaddr.IsLoopback(host) || err == nil && a.IsUnspecified() || p.Type == "ollama" && host != hostedOllama && !strings.HasSuffix(host, "."+hostedOllama)
}

const hostedOllama = "ollama.com"

// localServers returns the local servers of the user's file with a list of models, sorted, and
// then Ollama.
func (c *Config) localServers() (list []Provider) {
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p, err := c.Provider(name)
		if _, builtin := findBuiltin(name); !builtin && err == nil && p.IsLocal() && (p.Type == "openai" || p.Type == "ollama") {
			list = append(list, p)
		}
	}
	if p, err := c.Provider("ollama"); err == nil {
		list = append(list, p)
	}
	return list
}

func (c *Config) ProviderNames() []string {
	names := slices.Collect(maps.Keys(c.Providers))
	for _, m := range builtinProviders() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const ollamaPort = "11434"

// ollamaURL parses OLLAMA_HOST like Ollama's client, perhaps in quotes: host, host:port, :port or
// a URL. A missing or invalid port is Ollama's, or that of a given scheme. A wildcard address
// becomes localhost.
func ollamaURL(host string) string {
	scheme, rest, given := strings.Cut(trimQuotes(host), "://")
	port := ollamaPort
	switch {
	case !given && scheme == hostedOllama:
		scheme, rest, port = "https", scheme, "443"
	case !given:
		scheme, rest = "http", scheme
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	rest, path, _ := strings.Cut(rest, "/")
	name, number, err := net.SplitHostPort(rest)
	if err != nil {
		name = strings.Trim(rest, "[]")
	}
	if _, err := strconv.ParseUint(number, 10, 16); err == nil {
		port = number
	}
	switch name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	address := scheme + "://" + net.JoinHostPort(name, port)
	if path = strings.Trim(path, "/"); path != "" {
		address += "/" + path
	}
	return address
}

// trimQuotes removes spaces and quotes around a value, which some tools leave in the environment.
func trimQuotes(v string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(v), `"'`))
}

// cleanKey returns a key without quotes and without the scheme of its header.
func cleanKey(v string) Secret {
	v = trimQuotes(v)
	if scheme, key, ok := strings.Cut(v, " "); ok && strings.EqualFold(scheme, "Bearer") {
		v = trimQuotes(key)
	}
	return Secret(v)
}
