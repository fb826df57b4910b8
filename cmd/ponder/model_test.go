package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/llm/llmtest"
)

// Data of models is from models.dev, and from OpenRouter if configured. A failing source is a
// warning.
func TestModelRefresh(t *testing.T) {
	down := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api.json":
			w.Write([]byte(`{"openai":{"models":{"m":{"limit":{"context":1000},"cost":{"input":1,"output":2}}}}}`))
		case r.URL.Path == "/api/v1/models" && !down && r.Header.Get("Authorization") == "":
			w.Write([]byte(`{"data":[{"id":"a/new","context_length":2000,"pricing":{"prompt":"0.0000003","completion":"0.000007"}}]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "",
		"OLLAMA_HOST": "http://127.0.0.1:1", "OPENROUTER_API_KEY": "", "PONDER_MODEL_SLOW": "openrouter/a/new"} {
		t.Setenv(name, value)
	}
	t.Chdir(home)
	config := filepath.Join(home, "config.toml")
	if err := os.WriteFile(config, []byte("[providers.openrouter]\nbase_url = \""+server.URL+"/api/v1\"\napi_key_env = \"OPENROUTER_API_KEY\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(args ...string) (string, string) {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"--config", config}, args...), strings.NewReader(""), &out, &errs); code != exitDone {
			t.Fatalf("%v: exit %d: %s", args, code, errs.String())
		}
		return out.String(), errs.String()
	}
	refresh := []string{"model", "refresh", "--from", server.URL + "/api.json"}
	if _, errs := do(refresh...); !strings.Contains(errs, "prices of 1 model as of") || strings.Contains(errs, "OpenRouter") {
		t.Errorf("without OpenRouter: %s", errs)
	}
	t.Setenv("OPENROUTER_API_KEY", "k")
	if _, errs := do(refresh...); !strings.Contains(errs, "prices of 2 models as of") {
		t.Errorf("with it: %s", errs)
	}
	if out, _ := do("model", "list"); !strings.Contains(out, "$0.3 in, $7 out per million tokens") {
		t.Errorf("unknown price:\n%s", out)
	}
	down = true
	if _, errs := do(refresh...); !strings.Contains(errs, "warning: cannot read the model list of OpenRouter: fetch model prices from ") || !strings.Contains(errs, "prices of 1 model as of") {
		t.Errorf("with it down: %s", errs)
	}
}

// A request that exceeds the model's context is refused before it is sent.
func TestModelFits(t *testing.T) {
	var mu sync.Mutex
	var paths []string
	sim := llmtest.NewSim(llmtest.SimConfig{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		sim.ServeHTTP(w, r)
	}))
	defer server.Close()
	for name, value := range map[string]string{"HOME": t.TempDir(), "XDG_CONFIG_HOME": "", "ANTHROPIC_BASE_URL": server.URL, "ANTHROPIC_API_KEY": "k",
		"PONDER_MODEL_SLOW": "anthropic/claude-haiku-4-5", "OLLAMA_HOST": "http://127.0.0.1:1"} {
		t.Setenv(name, value)
	}
	a := &cli{App: &app.App{}, log: &logSink{out: io.Discard}}
	l, err := a.ModelSet(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := l.Chains(ponder.Slow)
	if err != nil {
		t.Fatal(err)
	}
	m := all[ponder.Slow][0]
	for _, words := range []int{170_000, 1_000} {
		req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, strings.Repeat("word ", words))}, MaxTokens: 100}
		if _, err := llm.Collect(m.Generate(t.Context(), req)); (llm.ClassOf(err) == llm.TooLong) != (words > 1_000) || words == 1_000 && err != nil {
			t.Errorf("%d words: %v", words, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"/v1/messages/count_tokens", "/v1/messages"}; !slices.Equal(paths, want) {
		t.Errorf("asked %q, want %q", paths, want)
	}
}
