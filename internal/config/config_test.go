package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

func writeConfigs(t *testing.T, users, project string, env map[string]string) Source {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	if users != "" {
		writeFile(t, filepath.Join(home, "ponder", "config.toml"), users)
	}
	if project != "" {
		writeFile(t, filepath.Join(dir, "ponder.toml"), project)
	}
	return Source{Dir: dir, Env: func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		if strings.HasPrefix(name, "XDG_") || name == "HOME" {
			return home
		}
		return ""
	}}
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestLoadPrecedence(t *testing.T) {
	src := writeConfigs(t, `
enable_thinking = true
[models]
fast = "groq/a"
slow = ["anthropic/b", "openai/c"]
cheap = "groq/cheap"
[models.price."openai/c"]
input = 1.75
[budgets]
for = "10m"
calls = 7
`, `
[models]
slow = "ollama/d"
[budgets]
for = "1h"
[prompts]
session = "Answer in French."
`, map[string]string{"PONDER_MODEL_CHEAP": "ollama/e, ollama/f", "PONDER_DB": "/x/y.db", "OPENAI_DEEP_THINK_MODEL": "gpt-9"})
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	want := Models{Fast: Chain{"groq/a"}, Slow: Chain{"ollama/d"}, Cheap: Chain{"ollama/e", "ollama/f"}, Deep: "openai/gpt-9",
		Price: map[string]llm.Override{"openai/c": {Input: new(1.75)}}}
	if d := cmp.Diff(want, c.Models); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Budgets{For: Duration(time.Hour), Calls: 7}, c.Budgets); d != "" {
		t.Error(d)
	}
	got := []string{c.DB, c.Prompt("session"), fmt.Sprint(c.EnableThinking), c.Origin("models.slow"), c.Origin("models.cheap"), c.Origin("budgets.tokens")}
	if d := cmp.Diff([]string{"/x/y.db", "Answer in French.", "true", "./ponder.toml", "PONDER_MODEL_CHEAP", "default"}, got); d != "" {
		t.Error(d)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
}

func TestLoadDefaults(t *testing.T) {
	c, err := Load(writeConfigs(t, "", "", map[string]string{"HOME": "/home/ann", "XDG_CONFIG_HOME": "relative", "XDG_DATA_HOME": ""}))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/home/ann/.config/ponder/config.toml", "/home/ann/.local/share/ponder/ponder.db"}, []string{c.File, c.DB}); d != "" {
		t.Error(d)
	}
}

func TestProjectMaySetLittle(t *testing.T) {
	tests := []struct{ name, text, warning string }{
		{"providers", "[models]\nfast='openai/x'\n[providers.openai]\nbase_url = 'http://evil.example'\n", "3: ignored providers"},
		{"dotted", "providers.openai.base_url = 'http://evil.example'\n", "1: ignored providers"},
		{"escaped", "\n\"\\u0070roviders\".openai.base_url = 'http://evil.example'\n", "ignored providers"},
		{"database", "db = '/etc/passwd'\n", "1: ignored db"},
		{"address", "listen = '0.0.0.0:80'\n", "1: ignored listen"},
		{"commands", "# hello\n[commands]\nx = 'rm -rf /'\n", "2: ignored commands"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(writeConfigs(t, "db = 'mine.db'", tt.text, nil))
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "./ponder.toml:") || !strings.Contains(c.Warnings[0], tt.warning) {
				t.Errorf("warnings %q, want one with %q", c.Warnings, tt.warning)
			}
			if c.Providers != nil || c.DB != "mine.db" {
				t.Errorf("a folder has set providers %v and db %q", c.Providers, c.DB)
			}
		})
	}
}

func TestLoadWarnsOfUnknownKeys(t *testing.T) {
	c, err := Load(writeConfigs(t, "# mine\n[model]\nfast = 'a/b'\n\n[models]\nfats = 'a/b'\n[providers.x]\ntype = 'openai'\napi_key = 'sk-secret'\n", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{c.File + ":2: unknown key model; ignored", c.File + ":6: unknown key models.fats; ignored", c.File + ":9: unknown key providers.x.api_key; ignored"}
	if d := cmp.Diff(want, c.Warnings); d != "" {
		t.Error(d)
	}
}

func TestLoadErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "[models]\nfast = \n", ":2: "},
		{"bare model", "[models]\nfast = 'llama3'\n", `:2: models.fast: "llama3" is not a model name: use provider/model`},
		{"model that is a number", "[models]\n\nfast = 7\n", ":3: models.fast: 7 is not a model name"},
		{"wrong type", "enable_thinking = 'sure'\n", ":1: "},
		{"duration", "[budgets]\nfor = 'soon'\n", `:2: budgets.for: "soon" is not a duration: use a form such as`},
		{"negative", "[budgets]\n# none\ntokens = -5\n", `:3: budgets.tokens: "-5" is not a whole number`},
		{"hedged role", "[models]\nhedge = ['slow', 'embed']\n", `:2: models.hedge: "embed" is unknown; use one of fast, slow, cheap, frontier`},
		{"level", "log_level = 'loud'\n", `:1: log_level: "loud" is unknown; use one of debug, info, warn, error`},
		{"provider type", "[providers.x]\ntype = 'soap'\n", `:2: providers.x.type: "soap" is unknown; use one of openai,`},
		{"password", "[providers.x]\nbase_url = 'http://me:hunter2@x'\n", ":2: providers.x.base_url: must not contain a password"},
		{"key for its name", "[providers.x]\napi_key_env = 'sk-ant-123'\n", ":2: providers.x.api_key_env: must be the name of an environment variable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(writeConfigs(t, tt.text, "", nil))
			if err == nil || !strings.Contains(err.Error(), "config.toml"+tt.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %v, want one line with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "sk-ant") {
				t.Errorf("error tells a secret: %v", err)
			}
		})
	}
	if _, err := Load(Source{File: filepath.Join(t.TempDir(), "none.toml")}); err == nil {
		t.Error("no error for a file that is named and not there")
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	p := Provider{Name: "x", Key: "sk-hidden"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if out := fmt.Sprintf(verb, p); strings.Contains(out, "hidden") {
			t.Errorf("%s prints %s", verb, out)
		}
	}
}

func TestProvider(t *testing.T) {
	file := "[providers.local]\ntype='openai'\nbase_url='http://127.0.0.1:1234/v1'\n[providers.groq]\nmax_concurrent=4\n[providers.odd]\nbase_url='http://x'\n" +
		"[providers.work]\ntype='anthropic'\napi_key_env='WORK_KEY'\n" +
		"[providers.cellar]\ntype='ollama'\nbase_url='http://cellar:1'\napi_key_env='CELLAR_KEY'\n[providers.attic]\ntype='ollama'\nbase_url='http://attic:1'\n"
	env := map[string]string{"GROQ_API_KEY": "g", "WORK_KEY": "w", "OPENAI_BASE_URL": "http://localhost:9/v1", "OLLAMA_HOST": "box", "OLLAMA_API_KEY": " o\n", "CELLAR_KEY": "c"}
	c, err := Load(writeConfigs(t, file, "", env))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		want Provider
		err  string
	}{
		{"groq", Provider{Type: "openai", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY", Key: "g", MaxConcurrent: 4}, ""},
		{"openai", Provider{Type: "openai", BaseURL: "http://localhost:9/v1", KeyEnv: "OPENAI_API_KEY"}, ""},
		{"local", Provider{Type: "openai", BaseURL: "http://127.0.0.1:1234/v1"}, ""},
		{"work", Provider{Type: "anthropic", BaseURL: "https://api.anthropic.com", KeyEnv: "WORK_KEY", Key: "w"}, ""},
		{"ollama", Provider{Type: "ollama", BaseURL: "http://box:11434", KeyEnv: "OLLAMA_API_KEY", Key: "o"}, ""},
		{"cellar", Provider{Type: "ollama", BaseURL: "http://cellar:1", KeyEnv: "CELLAR_KEY", Key: "c"}, ""},
		{"attic", Provider{Type: "ollama", BaseURL: "http://attic:1"}, ""},
		{"anthropic", Provider{}, "anthropic: no key: set ANTHROPIC_API_KEY"},
		{"odd", Provider{}, "provider odd has no type: add type"},
		{"nobody", Provider{}, `unknown provider "nobody": use anthropic, attic, cellar, gemini,`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := c.Provider(tt.name)
			if fmt.Sprint(err) != "<nil>" || tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) || tt.err == "" {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			tt.want.Name = tt.name
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOllamaURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://127.0.0.1:11434": "http://127.0.0.1:11434", "0.0.0.0": "http://127.0.0.1:11434", "box:8080": "http://box:8080", ":7": "http://127.0.0.1:7",
		"https://box": "https://box:443", "http://box/ollama/": "http://box:80/ollama", "[::1]": "http://[::1]:11434", "[::]:9": "http://[::1]:9",
		`"127.0.0.1:9"`: "http://127.0.0.1:9", "'box'": "http://box:11434", ` " http://box:9/ " `: "http://box:9", "::1": "http://[::1]:11434",
		"[::]": "http://[::1]:11434", "[2001:db8::1]": "http://[2001:db8::1]:11434", "http://[2001:db8::1]": "http://[2001:db8::1]:80",
		":": "http://127.0.0.1:11434", "": "http://127.0.0.1:11434", "https://": "https://127.0.0.1:443", "box:": "http://box:11434",
		"box:port": "http://box:11434", "box:70000": "http://box:11434", "https://box:-1": "https://box:443", "ollama.com": "https://ollama.com:443",
	} {
		if got := ollamaURL(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCleanKey(t *testing.T) {
	for in, want := range map[string]string{
		"sk-1": "sk-1", ` "sk-1" `: "sk-1", "'sk-1'": "sk-1", "Bearer sk-1": "sk-1", `"bearer  sk-1"`: "sk-1", `Bearer "sk-1"`: "sk-1",
		"Bearer": "Bearer", "a b": "a b", "sk-1\n": "sk-1", `""`: "", "": "",
	} {
		if got := cleanKey(in); string(got) != want {
			t.Errorf("%q: %q, want %q", in, string(got), want)
		}
	}
}

func TestPlainly(t *testing.T) {
	for message, want := range map[string]string{
		"incompatible types: TOML value has type string; destination has type slice":    `must be a list in brackets, such as ["a", "b"], not text in quotes`,
		"incompatible types: TOML value has type string; destination has type float":    "must be a number without quotes, not text in quotes",
		"incompatible types: TOML value has type integer; destination has type boolean": "must be true or false, not a number without quotes",
		"type mismatch for config.Web: expected table but found string":                 "must be a table, not text in quotes",
		"duration is odd": "duration is odd",
	} {
		if got := explainMismatch(message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
}
