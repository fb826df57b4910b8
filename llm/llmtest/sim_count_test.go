package llmtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/llmtest"
)

// The count is the model's input, and decides.
func TestCountTokens(t *testing.T) {
	for name, provider := range map[string]func(base string) llm.Provider{
		"anthropic": func(base string) llm.Provider {
			return anthropic.New(anthropic.Config{BaseURL: base, Key: "k"})
		},
		"gemini": func(base string) llm.Provider {
			return gemini.New(gemini.Config{BaseURL: base + "/v1beta", Key: "k"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var paths []string
			sim := llmtest.NewSim(llmtest.SimConfig{Key: "k"})
			base := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				paths = append(paths, r.URL.Path)
				mu.Unlock()
				sim.ServeHTTP(w, r)
			}))
			model := provider(base).Model("m")
			counter := model.(llm.TokenCounter)
			req := &llm.Request{
				System: strings.Repeat("Think of it. ", 300), Messages: []llm.Message{llm.Say(llm.User, "What is a tide?")}, MaxTokens: 2_000, Effort: "low",
				Tools: []llm.Tool{{Name: "look", Doc: "Looks something up.", Schema: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`)}}, ToolChoice: "none",
			}
			n, err := counter.CountTokens(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := llm.Collect(model.Generate(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			if read := answer.Usage.Input; n != read || n < 500 {
				t.Errorf("counted %d tokens, %d were read", n, read)
			}
			fails := fitTo(model, counter, n+100)
			if _, err := llm.Collect(fails.Generate(t.Context(), req)); llm.ClassOf(err) != llm.TooLong || !strings.HasPrefix(err.Error(), name+"/m: not sent") {
				t.Errorf("without room: %v", err)
			}
			if _, err := llm.Collect(fitTo(model, counter, n+300).Generate(t.Context(), req)); err != nil {
				t.Errorf("with some: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(paths) != 5 || paths[2] != paths[0] || paths[3] != paths[0] || paths[4] != paths[1] {
				t.Errorf("asked %q, want a count, an answer, two counts, an answer", paths)
			}
			if _, err := provider("http://"+name+".invalid").Model("m").(llm.TokenCounter).CountTokens(t.Context(), req); llm.ClassOf(err) != llm.Unreachable {
				t.Errorf("at an address without a server: %v", err)
			}
		})
	}
}

func TestCountTokensNonsense(t *testing.T) {
	for _, body := range []string{``, `{}`, `[]`, `{"input_tokens":-5}`, `{"input_tokens":"many"}`, `{"input_tokens":null}`, `{"error":{"type":"overloaded_error","message":"x"}}`} {
		base := llmtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(body))
		}))
		m := anthropic.New(anthropic.Config{BaseURL: base}).Model("m").(llm.TokenCounter)
		if n, err := m.CountTokens(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "Hi")}}); err == nil {
			t.Errorf("%q: %d", body, n)
		}
	}
}

// fitTo returns m within a context.
func fitTo(m llm.Model, counter llm.TokenCounter, context int) llm.Model {
	w := &llm.Windows{}
	w.Learn(m.Name(), llm.Limits{Context: context})
	return llm.FitWindow(m, counter, nil, w)
}
