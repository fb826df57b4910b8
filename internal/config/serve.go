package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Serve configures the server. Unset values are the constants below.
type Serve struct {
	Listen  string           `toml:"listen"` // host:port; [ServeListen]
	Hosts   []string         `toml:"hosts"`  // additional host names
	Origins []string         `toml:"origins"`
	Proxies []string         `toml:"proxies"`        // addresses and networks of proxies that name the client in X-Forwarded-For
	Allow   []string         `toml:"allow"`          // private hosts and networks for webhooks of clients
	Memory  int              `toml:"request_memory"` // of concurrent requests, in MiB; zero: the default
	Mind    *bool            `toml:"mind"`           // run the subconscious; nil: no
	Tokens  map[string]Token `toml:"tokens"`

	// Aliases map names for clients to Ponder's names, such as ponder/chat, or to models. A
	// final * matches any suffix.
	Aliases map[string]string `toml:"aliases"`

	// Folders are the folders that callers of the server may choose as sources.
	Folders []string `toml:"folders"`

	// RemoteContent has the addresses that stay links in answers: sources, all or none.
	RemoteContent string `toml:"remote_content"`

	// KeepExchanges is the lifetime of an answered exchange: [KeepExchanges] if nil; zero
	// removes it as soon as possible.
	KeepExchanges *Lifetime `toml:"keep_exchanges"`
}

// ExchangeLifetime returns the lifetime of ended exchanges.
func (s Serve) ExchangeLifetime() time.Duration {
	if s.KeepExchanges == nil {
		return KeepExchanges
	}
	return time.Duration(*s.KeepExchanges)
}

// RequestMemory returns the memory of concurrent requests in bytes.
func (s Serve) RequestMemory() int64 {
	return int64(max(cmp.Or(s.Memory, ServeMemory), minServeMemory)) << 20
}

// Defaults.
const (
	ServeListen = "127.0.0.1:8744"
	ServeMemory = 256 // MiB

	minServeMemory = 32 // of one request of 8 MiB

	KeepExchanges = 24 * time.Hour

	ServeToken = "PONDER_TOKEN"
)

// A Token grants access as an owner. Its secret is in the environment, or only its hash is
// known.
type Token struct {
	Env       string   `toml:"token_env"`
	Hash      string   `toml:"hash"`                // or "sha256:" and the hash in hex
	Owner     string   `toml:"owner"`               // empty: the name of the token
	Scopes    []string `toml:"scopes"`              // read, think, admin; empty: read and think
	PerMinute int      `toml:"requests_per_minute"` // zero: unlimited
	PerDay    int      `toml:"sessions_per_day"`    // started sessions; zero: unlimited
	Cost      float64  `toml:"cost_per_day"`        // US dollars; zero: unlimited

	RemoteContent bool `toml:"remote_content"` // the answers keep all links and images, whatever [Serve.RemoteContent] says
}

func Scopes() []string { return []string{"read", "think", "admin"} }

func (s Serve) Address() string { return cmp.Or(s.Listen, ServeListen) }

const hashPrefix = "sha256:"

// Digest returns the SHA-256 of the token, from Hash or from the environment.
func (t Token) Digest(env func(string) string) (sum [sha256.Size]byte, err error) {
	switch {
	case t.Env != "" && t.Hash != "":
		return sum, errors.New("has both token_env and hash: keep one")
	case t.Hash != "":
		b, err := hex.DecodeString(strings.TrimPrefix(t.Hash, hashPrefix))
		if err != nil || len(b) != len(sum) {
			return sum, errors.New("hash must be sha256: and 64 hexadecimal digits")
		}
		copy(sum[:], b)
		return sum, nil
	case t.Env == "":
		return sum, errors.New("has no token: set token_env to the variable with the token, or set hash")
	}
	secret := t.secret(env)
	if secret == "" {
		return sum, fmt.Errorf("token_env: %s %w: export it", t.Env, ErrNotSet)
	}
	return sha256.Sum256([]byte(secret)), nil
}

func (t Token) secret(env func(string) string) string { return strings.TrimSpace(env(t.Env)) }

// TokenSecret returns the secret of a token of [Config.Serve], or "" if only its hash is known.
func (c *Config) TokenSecret(name string) Secret {
	if t := c.Serve.Tokens[name]; t.Hash == "" {
		return Secret(t.secret(c.env))
	}
	return ""
}

func (s Serve) TokenNames() []string { return slices.Sorted(maps.Keys(s.Tokens)) }

// Digest returns the SHA-256 of a token of [Config.Serve].
func (c *Config) Digest(name string) ([sha256.Size]byte, error) {
	sum, err := c.Serve.Tokens[name].Digest(c.env)
	if err != nil {
		return sum, fmt.Errorf("serve.tokens.%s %w", name, err)
	}
	return sum, nil
}

func serveKeys() []Key {
	const t = "serve.tokens.*."
	return []Key{
		{"serve.listen", "address of ponder serve, such as 127.0.0.1:8744", listenLiteral},
		{"serve.hosts", "host names of the server, such as ponder.lan", hostsLiteral},
		{"serve.origins", "origins of pages that may use the server, such as https://desk.example", originsLiteral},
		{"serve.proxies", "addresses and networks of proxies that name the client in X-Forwarded-For, such as 10.0.0.2", hostsLiteral},
		{"serve.allow", "private hosts and networks that webhooks of clients may reach, such as hooks.lan", hostsLiteral},
		{"serve.request_memory", "memory of concurrent requests in MiB, at least 32", countLiteral},
		{"serve.mind", "run the subconscious in ponder serve: true or false", boolLiteral},
		{"serve.aliases.*", "target of a model name of clients: ponder/chat, ponder/research, ponder/session or provider/model", aliasLiteral},
		{"serve.keep_exchanges", "retention of single requests of other programs, such as 24h; 0 for none", lifetimeLiteral},
		{"serve.remote_content", "addresses that stay links in answers: sources, all or none", oneOfLiteral("sources", "all", "none")},
		{"serve.folders", "folders that callers of the server may choose as sources, such as ~/notes, /srv/docs", listLiteral},
		{t + "token_env", "environment variable with the token", variableLiteral},
		{t + "hash", "sha256: and the SHA-256 of the token in hex, instead of token_env", digestLiteral},
		{t + "owner", "owner of the threads and memories", ownerLiteral},
		{t + "scopes", "scopes: read, think, admin", scopesLiteral},
		{t + "requests_per_minute", "maximum requests per minute", countLiteral},
		{t + "sessions_per_day", "maximum sessions and research started per day", countLiteral},
		{t + "remote_content", "keep all links and images in answers for this token: true or false", boolLiteral},
		{t + "cost_per_day", "maximum cost per day in US dollars", dollarsLiteral},
	}
}

func listenLiteral(v string) (string, error) {
	host, port, err := net.SplitHostPort(v)
	if err != nil || port == "" || len(host) > maxHost {
		return "", fmt.Errorf("%q is not a listen address, such as 127.0.0.1:8744", textkit.Truncate(v, 40))
	}
	return quoteTOML(v), nil
}

func originsLiteral(v string) (string, error) {
	var list []string
	for text := range strings.SplitSeq(v, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return "", fmt.Errorf("%q is not an origin such as https://desk.example", textkit.Truncate(text, 40))
		}
		list = append(list, quoteTOML(u.Scheme+"://"+u.Host))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// maxAlias bounds the target of an alias.
const maxAlias = 200

// aliasLiteral checks a target's syntax; a request checks that the model exists.
func aliasLiteral(v string) (string, error) {
	v = strings.TrimSpace(v)
	if provider, model, ok := strings.Cut(v, "/"); !ok || provider == "" || model == "" || len(v) > maxAlias || strings.ContainsFunc(v, unicode.IsSpace) {
		return "", fmt.Errorf("%q is not a model: use ponder/chat, ponder/research, ponder/session, or provider/model", textkit.Truncate(v, 40))
	}
	return quoteTOML(v), nil
}

// A Lifetime is a lifetime, or "0".
type Lifetime time.Duration

// UnmarshalText parses like [ParseDuration], and "0".
func (k *Lifetime) UnmarshalText(text []byte) error {
	if *k = 0; strings.TrimSpace(string(text)) == "0" {
		return nil
	}
	d, err := ParseDuration(string(text))
	*k = Lifetime(d)
	return err
}

func (k Lifetime) MarshalText() ([]byte, error) {
	if k == 0 {
		return []byte("0"), nil
	}
	return Duration(k).MarshalText()
}

func lifetimeLiteral(v string) (string, error) {
	var k Lifetime
	if err := k.UnmarshalText([]byte(v)); err != nil {
		return "", fmt.Errorf("%w, or 0 for none", err)
	}
	text, err := k.MarshalText()
	return quoteTOML(string(text)), err
}

func digestLiteral(v string) (string, error) {
	if _, err := (Token{Hash: v}).Digest(nil); err != nil {
		return "", errors.New(`must be "sha256:" and the SHA-256 of the token in hex: printf %s "$TOKEN" | sha256sum`)
	}
	return quoteTOML(v), nil
}

func scopesLiteral(v string) (string, error) {
	var list []string
	for word := range strings.SplitSeq(v, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if !slices.Contains(Scopes(), word) {
			return "", fmt.Errorf("%q is unknown; use one of %s", textkit.Truncate(word, 20), strings.Join(Scopes(), ", "))
		}
		list = append(list, quoteTOML(word))
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// maxOwner bounds the name of an owner.
const maxOwner = 64

func ownerLiteral(v string) (string, error) {
	ok := v != "" && len(v) <= maxOwner && !strings.ContainsFunc(v, func(r rune) bool {
		return !strings.ContainsRune("-_.@", r) && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if !ok {
		return "", fmt.Errorf("%q is not an owner: use letters, digits and -_.@, at most %d", textkit.Truncate(v, 20), maxOwner)
	}
	return quoteTOML(v), nil
}

// Literal returns a value in TOML syntax, or "" for an unknown setting.
func Literal(name, value string) string {
	k, ok := findKey(name)
	if !ok {
		return ""
	}
	text, err := k.literal(value)
	if err != nil { // a default in words
		return quoteTOML(value)
	}
	return text
}
