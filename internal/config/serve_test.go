package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
)

func TestServe(t *testing.T) {
	sum := sha256.Sum256([]byte("hers"))
	hash := "sha256:" + hex.EncodeToString(sum[:])
	env := func(name string) string { return map[string]string{"ANNA": "hers\n"}[name] }
	for _, tt := range []struct {
		token Token
		why   string
	}{
		{Token{Env: "ANNA"}, ""},
		{Token{Hash: hash}, ""},
		{Token{}, "has no token"},
		{Token{Env: "ANNA", Hash: hash}, "keep one"},
		{Token{Env: "BEN"}, "BEN is not set"},
		{Token{Hash: "sha256:12"}, "64 hexadecimal digits"},
	} {
		got, err := tt.token.Digest(env)
		if tt.why == "" && (err != nil || got != sum) || tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%+v: %x, %v", tt.token, got, err)
		}
	}
	if _, err := (Token{Env: "BEN"}).Digest(env); !errors.Is(err, ErrNotSet) {
		t.Error(err)
	}
}

// An explicit zero lifetime differs from an unset one.
func TestKeepFor(t *testing.T) {
	for text, want := range map[string]time.Duration{"": KeepExchanges, "[serve]\nkeep_exchanges = \"0\"\n": 0, "[serve]\nkeep_exchanges = \"2h\"\n": 2 * time.Hour} {
		var c struct{ Serve Serve }
		if _, err := toml.Decode(text, &c); err != nil || c.Serve.ExchangeLifetime() != want {
			t.Errorf("%q: %s, %v", text, c.Serve.ExchangeLifetime(), err)
		}
	}
}

func TestServeKeys(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"serve.listen", "127.0.0.1:1", `"127.0.0.1:1"`},
		{"serve.listen", "8744", ""},
		{"serve.origins", "https://desk.example/, http://a:1", `["https://desk.example", "http://a:1"]`},
		{"serve.origins", "desk.example", ""},
		{"serve.origins", "https://a/path", ""},
		{"serve.tokens.anna.scopes", "read, think", `["read", "think"]`},
		{"serve.tokens.anna.scopes", "root", ""},
		{"serve.tokens.anna.owner", "anna@example.org", `"anna@example.org"`},
		{"serve.tokens.anna.owner", "an na", ""},
		{"serve.tokens.anna.hash", "hers", ""},
		{"serve.tokens.anna.token_env", "not a name", ""},
		{`serve.aliases."gpt-4.1"`, "ponder/chat", `"ponder/chat"`},
		{`serve.aliases.claude-*`, "anthropic/claude-x", `"anthropic/claude-x"`},
		{"serve.aliases.gpt", "gpt", ""},
		{"serve.aliases.gpt", "a/ b", ""},
		{"serve.keep_exchanges", "90m", `"1h30m"`},
		{"serve.keep_exchanges", "0", `"0"`},
		{"serve.remote_content", "none", `"none"`},
		{"serve.remote_content", "some", ""},
		{"serve.keep_exchanges", "-1h", ""},
		{"serve.keep_exchanges", "soon", ""},
	} {
		k, ok := findKey(tt.name)
		if !ok {
			t.Fatalf("no key %s", tt.name)
		}
		got, err := k.literal(tt.value)
		if tt.want == "" && err == nil || tt.want != "" && got != tt.want {
			t.Errorf("%s = %s: %s, %v", tt.name, tt.value, got, err)
		}
	}
}
