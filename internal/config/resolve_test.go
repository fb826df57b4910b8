package config

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
)

func TestResolve(t *testing.T) {
	ollama := serveBody(t, "/api/tags", `{"models":[{"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}},{"name":"llama3.1:8b"},{"name":"qwen3"}]}`)
	lone := serveBody(t, "/v1/models", `{"data":[{"id":"text-embedding-x"},{"id":"my-llama"}]}`)
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
		}
	}))
	defer hung.Close()
	nowhere := "127.0.0.1:1"

	tests := []struct {
		name, file string
		env        map[string]string
		want       [5]string // fast, slow, cheap, frontier, embed
		from       string    // of slow
	}{
		{name: "nothing", env: map[string]string{"OLLAMA_HOST": nowhere}},
		{name: "a server that hangs", env: map[string]string{"OLLAMA_HOST": hung.URL}},
		{name: "ollama", env: map[string]string{"OLLAMA_HOST": ollama},
			want: [5]string{"ollama/llama3.1:8b", "ollama/llama3.1:8b", "ollama/llama3.1:8b", "ollama/llama3.1:8b", "ollama/nomic-embed-text:latest"}, from: "Ollama at " + ollama},
		{name: "a key goes before ollama", env: map[string]string{"OLLAMA_HOST": ollama, "GROQ_API_KEY": "k"},
			want: [5]string{"groq/openai/gpt-oss-20b", "groq/openai/gpt-oss-120b", "groq/openai/gpt-oss-20b", "groq/openai/gpt-oss-120b", ""}, from: "GROQ_API_KEY"},
		{name: "the first of two keys", env: map[string]string{"GEMINI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"},
			want: [5]string{"anthropic/claude-haiku-5-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5", "anthropic/claude-opus-5-5", ""}, from: "ANTHROPIC_API_KEY"},
		{name: "a server with models of its own", env: map[string]string{"OPENAI_BASE_URL": lone + "/v1"},
			want: [5]string{"openai/my-llama", "openai/my-llama", "openai/my-llama", "openai/my-llama", "openai/text-embedding-x"}, from: "OPENAI_BASE_URL"},
		{name: "a server that wants no key", env: map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
			want: [5]string{"anthropic/claude-haiku-5-5", "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5", "anthropic/claude-opus-5-5", ""}, from: "ANTHROPIC_BASE_URL"},
		{name: "a server that the file names", file: "[providers.openai]\nbase_url='" + lone + "/v1'\n",
			want: [5]string{"openai/my-llama", "openai/my-llama", "openai/my-llama", "openai/my-llama", "openai/text-embedding-x"}, from: "providers.openai.base_url"},
		{name: "one role is set, the others follow", file: "[models]\nfast='a/x'\nfrontier='a/y'\n", env: map[string]string{"OPENAI_API_KEY": "k"},
			want: [5]string{"a/x", "a/y", "a/x", "a/y", ""}, from: "same as frontier"},
		{name: "the environment goes before the file", file: "[models]\nslow='a/x'\n", env: map[string]string{"PONDER_MODEL_SLOW": "b/y"},
			want: [5]string{"b/y", "b/y", "b/y", "b/y", ""}, from: "PONDER_MODEL_SLOW"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(writeConfigs(t, tt.file, "", tt.env))
			if err != nil {
				t.Fatal(err)
			}
			all, _ := c.Resolve(t.Context(), http.DefaultClient)
			var got [5]string
			for i, role := range Roles() {
				if models := all.ForRole(role).Models; models != nil {
					got[i] = models[0]
				}
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
			if from := all.ForRole("slow").From; from != tt.from {
				t.Errorf("from %q, want %q", from, tt.from)
			}
		})
	}
}

// Without another model, the error names the unusable configured one.
func TestResolveMissed(t *testing.T) {
	bare := serveBody(t, "/api/tags", `{"models":[{"name":"nomic-embed-text"}]}`)
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		want       string
	}{
		{name: "nothing is named", want: ""},
		{name: "no Ollama there", env: map[string]string{"OLLAMA_HOST": "127.0.0.1:1"},
			want: "no answer from Ollama at http://127.0.0.1:1: run `ollama serve` there, or correct OLLAMA_HOST"},
		{name: "nor where the file says", file: "[providers.ollama]\nbase_url='http://127.0.0.1:1'\n",
			want: "no answer from Ollama at http://127.0.0.1:1: run `ollama serve` there, or correct providers.ollama.base_url"},
		{name: "an Ollama that only makes vectors", env: map[string]string{"OLLAMA_HOST": bare},
			want: "Ollama at " + bare + " has no model for text: run `ollama pull llama3.1`"},
		{name: "a key is missing", env: map[string]string{"OLLAMA_HOST": locked.URL},
			want: "Ollama at " + locked.URL + " requires a key (401 Unauthorized): set OLLAMA_API_KEY"},
		{name: "a wrong key", env: map[string]string{"OLLAMA_HOST": locked.URL, "OLLAMA_API_KEY": "sekret"},
			want: "Ollama at " + locked.URL + " rejects the key (401 Unauthorized): correct OLLAMA_API_KEY"},
		{name: "no Ollama, but something else", env: map[string]string{"OLLAMA_HOST": bare + "/x"},
			want: "the server at " + bare + "/x returned 404 Not Found: check that it is Ollama"},
		{name: "no address", env: map[string]string{"OLLAMA_HOST": "notaurl::"},
			want: `provider ollama: OLLAMA_HOST "notaurl::": must be a URL such as https://api.groq.com/openai/v1`},
		{name: "not a URL", env: map[string]string{"OPENAI_BASE_URL": "garbage"},
			want: `provider openai: OPENAI_BASE_URL "garbage": must be a URL such as https://api.groq.com/openai/v1`},
		{name: "another protocol", env: map[string]string{"OPENAI_BASE_URL": "ftp://x", "OLLAMA_HOST": "127.0.0.1:1"},
			want: `provider openai: OPENAI_BASE_URL "ftp://x": must be a URL such as https://api.groq.com/openai/v1`},
		{name: "a key that is none", env: map[string]string{"GROQ_API_KEY": "a\nb"},
			want: "groq: no key: GROQ_API_KEY contains a line break or another invalid character"},
		{name: "but another can be used", env: map[string]string{"OPENAI_BASE_URL": "garbage", "GROQ_API_KEY": "k"}, want: ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Load(writeConfigs(t, tt.file, "", tt.env))
			if err != nil {
				t.Fatal(err)
			}
			_, missed := c.Resolve(t.Context(), &http.Client{Transport: refusingOllama{}})
			got := ""
			if missed != nil {
				got = missed.Error()
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// refusingOllama fails requests to a local Ollama.
type refusingOllama struct{}

func (refusingOllama) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Port() == ollamaPort {
		return nil, errors.New("connection refused")
	}
	return http.DefaultTransport.RoundTrip(r)
}

func serveBody(t *testing.T, path, body string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(body))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestDefaultModelsHavePrices(t *testing.T) {
	for _, m := range builtinProviders() {
		for role, id := range m.models {
			if id == "" {
				continue
			}
			if info, ok := llm.BuiltInPrices().Lookup(m.Name + "/" + id); !ok || info.Source == llm.PriceUnknown {
				t.Errorf("the %s model of %s, %s, has no known price", role, m.Name, id)
			}
		}
	}
}
