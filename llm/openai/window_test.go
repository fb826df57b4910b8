package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// servers have the answers of servers about a model with a context of 4096 tokens, by path.
var servers = map[string]map[string]string{
	"vLLM":               {"/v1/models": `{"object":"list","data":[{"id":"m","object":"model","owned_by":"vllm","root":"/models/m","max_model_len":4096}]}`},
	"llama.cpp":          {"/v1/models": `{"models":[{"name":"m.gguf"}],"object":"list","data":[{"id":"m","object":"model","owned_by":"llamacpp","meta":{"n_vocab":49152,"n_ctx_train":131072}}]}`, "/props": `{"default_generation_settings":{"id":0,"n_ctx":4096,"speculative":false},"total_slots":1}`},
	"llama.cpp, list":    {"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":4096,"n_ctx_train":131072}}]}`},
	"llama.cpp, no list": {"/props": `{"default_generation_settings":{"n_ctx":4096}}`},
	"LM Studio":          {"/v1/models": `{"data":[{"id":"m","object":"model","owned_by":"organization_owner"}]}`, "/api/v0/models": `{"object":"list","data":[{"id":"n","state":"loaded","max_context_length":32768,"loaded_context_length":9000},{"id":"m","type":"llm","state":"loaded","max_context_length":131072,"loaded_context_length":4096}]}`},
	"Ollama":             {"/v1/models": `{"data":[{"id":"m:latest","owned_by":"library"},{"id":"m","owned_by":"library"}]}`, "/api/ps": `{"models":[{"name":"m:latest","model":"m:latest","size":6591830464,"context_length":4096}]}`},
	"TGI":                {"/v1/models": `{"data":[{"id":"m","object":"model","owned_by":"m"}]}`, "/info": `{"model_id":"m","max_concurrent_requests":128,"max_input_tokens":4095,"max_total_tokens":4096}`},
	"SGLang":             {"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`, "/get_server_info": `{"model_path":"m","context_length":4096,"max_total_num_tokens":400000}`},
	"SGLang, no memory":  {"/v1/models": `{"data":[{"id":"m","owned_by":"sglang"}]}`, "/get_server_info": `{"context_length":32768,"max_total_num_tokens":4096}`},
	"SGLang, new":        {"/v1/models": `{"data":[{"id":"m","owned_by":"sglang","max_model_len":4096}]}`},
}

// unknown are servers that name no context of the model.
var unknown = map[string]map[string]string{
	"none":                      {"/v1/models": `{"data":[{"id":"m"}]}`},
	"another model":             {"/v1/models": `{"data":[{"id":"m"}]}`, "/api/v0/models": `{"data":[{"id":"n","loaded_context_length":9000}]}`, "/api/ps": `{"models":[{"name":"n","context_length":1}]}`},
	"LM Studio, not loaded":     {"/v1/models": `{"data":[{"id":"m"}]}`, "/api/v0/models": `{"data":[{"id":"m","state":"not-loaded","max_context_length":131072}]}`},
	"a page for every path":     {"/v1/models": `{"data":[{"id":"m"}]}`, "/props": "<html>hello</html>", "/info": "<html>hello</html>", "/api/ps": "[]", "/get_server_info": `"x"`},
	"nonsense":                  {"/v1/models": `{"data":[{"id":"m","max_model_len":-4}]}`, "/info": `{"max_total_tokens":-1}`, "/props": `{"default_generation_settings":{"n_ctx":"many"}}`},
	"the context of the traing": {"/v1/models": `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`},
}

func serveInfo(t *testing.T, paths map[string]string) *Provider {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := paths[r.URL.Path]
		if !ok || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	return New(Config{BaseURL: server.URL + "/v1"})
}

func TestListedContext(t *testing.T) {
	check := func(name string, paths map[string]string, want int) {
		t.Run(name, func(t *testing.T) {
			p := serveInfo(t, paths)
			m := p.Model("m").(llm.WindowLister)
			if got := m.ListedContext(); got != 0 {
				t.Errorf("context %d before the check", got)
			}
			if err := p.Check(t.Context(), "m"); err != nil {
				t.Fatal(err)
			}
			if got := m.ListedContext(); got != want {
				t.Errorf("context %d, want %d", got, want)
			}
		})
	}
	for name, paths := range servers {
		check(name, paths, 4096)
	}
	for name, paths := range unknown {
		check(name, paths, 0)
	}
}

// Each kind of server refuses a request that is too long in its own words. A caller that shortens it to
// the room of the error soon has an answer. After a check, what the server lists needs no refusal.
func TestOverflow(t *testing.T) {
	lists := []llmtest.Overflow{llmtest.OverflowVLLM, llmtest.OverflowLlamaCpp, llmtest.OverflowLMStudio, llmtest.OverflowTGI, llmtest.OverflowSGLang}
	for _, kind := range llmtest.Overflows() {
		t.Run(string(kind), func(t *testing.T) {
			refused := 0
			sim := llmtest.NewSim(llmtest.SimConfig{Context: 4096, Overflow: kind, Models: []string{"m"}, Record: func(r llmtest.Record) {
				if r.Status >= 400 && strings.HasSuffix(r.Path, "/completions") {
					refused++
				}
			}})
			server := httptest.NewServer(sim)
			t.Cleanup(server.Close)
			p := New(Config{BaseURL: server.URL + "/v1"})
			answerAt := func() (tries int) {
				m := llm.FitWindow(p.Model("m"), nil, p.Model("m").(llm.WindowLister), &llm.Windows{})
				for size := 44_000; tries < 8; tries++ {
					text := strings.Repeat("A word of the prompt. ", size/22)
					_, err := llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}, MaxTokens: 1024}))
					if err == nil {
						return tries
					}
					var e *llm.Error
					if !errors.As(err, &e) || e.Class != llm.TooLong || e.Room <= 0 || e.Room >= size {
						t.Fatalf("error %v with room for %d of %d bytes", err, e.Room, size)
					}
					size = e.Room
				}
				return tries
			}
			if tries := answerAt(); tries > 5 || refused == 0 {
				t.Errorf("answered after %d tries, %d of them sent", tries, refused)
			}
			refused = 0
			if err := p.Check(t.Context(), "m"); err != nil {
				t.Error(err)
			}
			if tries := answerAt(); slices.Contains(lists, kind) && (tries > 1 || refused > 0) {
				t.Errorf("after the check, answered after %d tries, %d of them sent", tries, refused)
			}
		})
	}
}
