package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ponder/llm"
)

// An Ollama that loads a model with at most so many tokens, and refuses longer prompts.
type smallOllama struct {
	show   string
	memory int // tokens
	rate   int // bytes a token
	asked  []int
	loaded int
}

func (s *smallOllama) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/api/show":
		_, _ = io.WriteString(w, s.show)
	case "/api/ps":
		_, _ = fmt.Fprintf(w, `{"models":[{"name":"other","model":"other","context_length":1},{"name":"m:latest","model":"m:latest","context_length":%d}]}`, s.loaded)
	case "/api/chat":
		var ask chatRequest
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &ask)
		s.asked = append(s.asked, ask.Options.NumCtx)
		s.loaded = min(ask.Options.NumCtx, s.memory)
		if len(body)/s.rate > s.loaded {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"the input length exceeds the context length"}`)
			return
		}
		_, _ = io.WriteString(w, `{"message":{"role":"assistant","content":"yes"},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":1}`+"\n")
	}
}

func TestWindow(t *testing.T) {
	const big = `{"model_info":{"x.context_length":65536}}`
	for name, tt := range map[string]struct {
		server   smallOllama
		contexts map[string]int
		bytes    int
		asked    []int
		listed   int // after the call
		limit    int // that the error names; -1: no error
	}{
		"fits":                      {smallOllama{show: big, memory: 1 << 20, rate: 4}, nil, 1_000, []int{8192}, 65536, -1},
		"the estimate is too low":   {smallOllama{show: big, memory: 1 << 20, rate: 2}, nil, 32_000, []int{16384}, 65536, -1},
		"much too low":              {smallOllama{show: big, memory: 1 << 20, rate: 1}, nil, 32_000, []int{16384, 32768}, 65536, -1},
		"less memory than was told": {smallOllama{show: big, memory: 4096, rate: 4}, nil, 32_000, []int{16384}, 4096, 4096},
		"its num_ctx":               {smallOllama{show: `{"parameters":"stop x\nnum_ctx 4096","model_info":{"x.context_length":65536}}`, memory: 1 << 20, rate: 4}, nil, 1_000, []int{4096}, 4096, -1},
		"more than its num_ctx":     {smallOllama{show: `{"parameters":"num_ctx 4096","model_info":{"x.context_length":65536}}`, memory: 1 << 20, rate: 4}, nil, 32_000, []int{4096}, 4096, 0},
		"configured":                {smallOllama{show: big, memory: 1 << 20, rate: 4}, map[string]int{"m": 3000, "n": 5}, 1_000, []int{3000}, 3000, -1},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&tt.server)
			t.Cleanup(server.Close)
			m := New(Config{BaseURL: server.URL, Contexts: tt.contexts}).Model("m")
			_, err := llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, strings.Repeat("x", tt.bytes))}, MaxTokens: 1000}))
			var e *llm.Error
			if errors.As(err, &e); (err == nil) != (tt.limit < 0) || e != nil && (e.Class != llm.TooLong || e.Limits.Context != tt.limit) {
				t.Errorf("error %v, want a limit of %d", err, tt.limit)
			}
			if !slices.Equal(tt.server.asked, tt.asked) {
				t.Errorf("asked for contexts %v, want %v", tt.server.asked, tt.asked)
			}
			if got := m.(llm.WindowLister).ListedContext(); got != tt.listed {
				t.Errorf("context %d, want %d", got, tt.listed)
			}
		})
	}
	server := httptest.NewServer(&smallOllama{show: big})
	t.Cleanup(server.Close)
	p := New(Config{BaseURL: server.URL})
	if err := p.Check(t.Context(), "m"); err != nil || p.Model("m").(llm.WindowLister).ListedContext() != 65536 {
		t.Errorf("after a check (%v), the context is %d", err, p.Model("m").(llm.WindowLister).ListedContext())
	}
}
