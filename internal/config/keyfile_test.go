package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	file, env := filepath.Join(dir, "config.toml"), map[string]string{"HOME": dir, "GROQ_API_KEY": "from-environment"}
	load := func() *Config {
		t.Helper()
		c, err := Load(Source{File: file, Env: func(name string) string { return env[name] }})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := os.WriteFile(file, []byte("[providers.own]\ntype = \"openai\"\nbase_url = \"https://models.example/v1\"\napi_key_env = \"OWN_KEY\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := load()
	if c.HasChanged() {
		t.Error("changed at once")
	}
	for variable, key := range map[string]string{"OPENAI_API_KEY": " sk-stored ", "OWN_KEY": "own", "GROQ_API_KEY": "stored", "BRAVE_API_KEY": "brave"} {
		if err := c.SaveKey(variable, key); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	if info, err := os.Stat(c.KeyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	if !c.HasChanged() {
		t.Error("a running server does not notice the key")
	}
	c = load()
	for name, want := range map[string]Secret{"openai": "sk-stored", "own": "own", "groq": "from-environment"} {
		if p, err := c.Provider(name); err != nil || p.Key != want {
			t.Errorf("%s: %q (%v)", name, string(p.Key), err)
		}
	}
	if c.Search.Brave != "brave" || len(c.Warnings) > 0 {
		t.Errorf("brave %q, warnings %q", string(c.Search.Brave), c.Warnings)
	}
	states, err := c.KeyStates(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	from := make(map[string]string)
	for _, s := range states {
		from[s.Variable] = s.From
		if (s.From != "") != s.Set || s.For == "" {
			t.Errorf("%+v", s)
		}
	}
	if from["OPENAI_API_KEY"] != "file" || from["GROQ_API_KEY"] != "environment" || from["ANTHROPIC_API_KEY"] != "" || from["OWN_KEY"] != "file" {
		t.Errorf("%v", from)
	}
	if err := c.SaveKey("OPENAI_API_KEY", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := load().Provider("openai"); !errors.Is(err, ErrNoKey) {
		t.Errorf("after the removal: %v", err)
	}
}

// TestKeyFileHasOnlyKeys checks that the file cannot lead requests elsewhere.
func TestKeyFileHasOnlyKeys(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := "OPENAI_BASE_URL=http://evil.example\nPONDER_DB=/tmp/x\nPATH=/tmp\n# note\nOPENAI_API_KEY=sk-1\nnonsense\n"
	if err := os.WriteFile(filepath.Join(dir, keyFileName), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Source{File: file, Env: func(name string) string { return map[string]string{"HOME": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Provider("openai")
	if err != nil || p.Key != "sk-1" || strings.Contains(p.BaseURL, "evil") || strings.HasPrefix(c.DB, "/tmp/x") || c.env("PATH") != "" {
		t.Errorf("%+v %s %v", p, c.DB, err)
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "chmod 600") {
		t.Errorf("warnings %q", c.Warnings)
	}
	for variable, key := range map[string]string{"OPENAI_BASE_URL": "http://evil.example", "PATH": "/tmp", "": "x"} {
		if err := c.SaveKey(variable, key); !errors.Is(err, ErrNotKey) {
			t.Errorf("%q: %v", variable, err)
		}
	}
	for _, key := range []string{"a\nPATH=/tmp", "a b", strings.Repeat("x", maxKey+1)} {
		if c.SaveKey("OPENAI_API_KEY", key) == nil {
			t.Errorf("%.20q is stored", key)
		}
	}
}

func TestWithProvider(t *testing.T) {
	c, err := Load(Source{File: "", Env: func(name string) string {
		return map[string]string{"HOME": t.TempDir(), "OPENAI_BASE_URL": "https://other.example/v1"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	one := c.WithProvider(Provider{Name: "lan", Type: "openai", BaseURL: "http://10.0.0.9:8080/v1", Key: "k"})
	if p, err := one.Provider("lan"); err != nil || p.Key != "k" || p.BaseURL != "http://10.0.0.9:8080/v1" {
		t.Errorf("%+v %v", p, err)
	}
	own := c.WithProvider(Provider{Name: "openai", BaseURL: "https://api.openai.com/v1", Key: "sk-2"})
	if p, err := own.Provider("openai"); err != nil || p.Key != "sk-2" || p.BaseURL != "https://api.openai.com/v1" || p.Type != "openai" {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := c.Provider("lan"); !errors.Is(err, ErrUnknownProvider) {
		t.Errorf("the configuration has changed: %v", err)
	}
}
