package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

const (
	said = `{"model":"m","message":{"content":"word "},"done":false}` + "\n"
	over = `{"model":"m","done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}` + "\n"
)

// A leading number is the status.
func servePaths(t *testing.T, paths map[string]string) *Provider {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := paths[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		var status int
		if n, err := fmt.Sscanf(body, "%d ", &status); n == 1 && err == nil {
			w.WriteHeader(status)
			body = body[4:]
		}
		if _, err := io.WriteString(w, body); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(server.Close)
	return New(Config{BaseURL: server.URL})
}

func TestBase(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "http://127.0.0.1:11434",
		"0.0.0.0":                      "http://127.0.0.1:11434",
		":8080":                        "http://127.0.0.1:8080",
		"box":                          "http://box:11434",
		"box:1":                        "http://box:1",
		"http://[::]:2/":               "http://[::1]:2",
		"https://[::1]":                "https://[::1]",
		"https://ollama.com/":          "https://ollama.com",
		"http://127.0.0.1:11434/v1/":   "http://127.0.0.1:11434",
		"https://example.org/ollama//": "https://example.org/ollama",
		" box ":                        "http://box:11434",
		"http://%zz":                   "http://%zz",
	} {
		if got := Base(in); got != want {
			t.Errorf("Base(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := New(Config{BaseURL: dead.Addr().String()})
	dead.Close()
	show := "{}"
	for _, test := range []struct {
		name   string
		p      *Provider
		class  llm.Class
		advice string
	}{
		{"nobody there", nobody, llm.Unreachable, "start it with: ollama serve"},
		{"no such model", servePaths(t, map[string]string{"/api/show": `404 {"error":"model 'm' not found"}`}), llm.NotFound, "run: ollama pull m"},
		{"no such model at the chat", servePaths(t, map[string]string{"/api/show": show, "/api/chat": `404 {"error":"model \"m\" not found, try pulling it first"}`}), llm.NotFound, "run: ollama pull m"},
		{"not an Ollama", servePaths(t, nil), llm.NotFound, "run: ollama pull m"},
		{"a key wanted", servePaths(t, map[string]string{"/api/show": "401 unauthorized"}), llm.Auth, "set OLLAMA_API_KEY"},
		{"no tools", servePaths(t, map[string]string{"/api/show": show, "/api/chat": `400 {"error":"registry.ollama.ai/library/m does not support tools"}`}), llm.BadRequest, ""},
		{"too long", servePaths(t, map[string]string{"/api/show": show, "/api/chat": `400 {"error":"the input length exceeds the context length"}`}), llm.TooLong, "give it less to read, or use a model with a larger context"},
		{"no memory", servePaths(t, map[string]string{"/api/show": show, "/api/chat": `500 {"error":"model requires more system memory (5.6 GiB) than is available (3.9 GiB)"}`}), llm.BadRequest, ""},
		{"busy", servePaths(t, map[string]string{"/api/show": show, "/api/chat": `503 {"error":"server busy, please try again.  maximum pending requests exceeded"}`}), llm.Transient, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := llmtest.Generate(t, test.p.Model("m"), helloRequest())
			var e *llm.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Class != test.class || e.Advice != test.advice || e.Model != "ollama/m" {
				t.Errorf("%s of %s, advice %q: %v", e.Class, e.Model, e.Advice, e)
			}
			if strings.HasPrefix(test.name, "no such model") || test.p == nobody {
				if c := llm.ClassOf(test.p.Check(context.Background(), "m")); c != test.class && test.name != "no such model at the chat" {
					t.Errorf("check says %s", c)
				}
			}
		})
	}
}

func TestFactsAreAskedOnce(t *testing.T) {
	var shows, chats atomic.Int32
	var gone atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"model 'm' not found"}`)
			return
		}
		if r.URL.Path == "/api/show" {
			shows.Add(1)
			_, _ = io.WriteString(w, `{"capabilities":["thinking"],"model_info":{"general.architecture":"x","x.context_length":4096},"thinking":{"values":["low","high"]}}`)
			return
		}
		chats.Add(1)
		var ask struct {
			Think   string
			Options struct {
				NumCtx int `json:"num_ctx"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.Think != "low" || ask.Options.NumCtx != 4096 {
			t.Errorf("asked %+v, %v", ask, err)
		}
		_, _ = io.WriteString(w, said+over)
	}))
	defer server.Close()
	model := New(Config{BaseURL: server.URL}).Model("m")
	req := helloRequest()
	req.Effort = "low"
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := llm.Collect(model.Generate(context.Background(), req)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s, c := shows.Load(), chats.Load(); s != 1 || c != 50 {
		t.Errorf("%d descriptions and %d chats", s, c)
	}
	gone.Store(true)
	for range 2 { // chat, then description
		if _, err := llm.Collect(model.Generate(context.Background(), req)); llm.ClassOf(err) != llm.NotFound {
			t.Error(err)
		}
	}
	gone.Store(false)
	if _, err := llm.Collect(model.Generate(context.Background(), req)); err != nil || shows.Load() != 2 {
		t.Errorf("%d descriptions, %v", shows.Load(), err)
	}
}

func TestWithoutFacts(t *testing.T) {
	for name, show := range map[string]string{"no such path": "404 404 page not found", "no sense": "hello", "refused": `400 {"error":"bad"}`} {
		t.Run(name, func(t *testing.T) {
			p := servePaths(t, map[string]string{"/api/show": show, "/api/chat": said + over})
			resp, err := llmtest.Generate(t, p.Model("m"), helloRequest())
			if err != nil || resp.Message.Text() != "word " {
				t.Errorf("answer %v, %v", resp, err)
			}
		})
	}
}

func TestWaitingForFactsIsCancelled(t *testing.T) {
	asked := make(chan struct{}, 2)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // needed to notice a disconnect
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer server.Close()
	model := New(Config{BaseURL: server.URL}).Model("m")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			_, err := llm.Collect(model.Generate(ctx, helloRequest()))
			if c := llm.ClassOf(err); c != llm.Cancelled {
				t.Errorf("class %s: %v", c, err)
			}
		})
	}
	<-asked
	cancel()
	all.Wait()
}

func TestModels(t *testing.T) {
	p := servePaths(t, map[string]string{"/api/tags": `{"models":[{"name":"b:latest","size":1},{"name":"a:1b"}]}`})
	got, err := p.Models(context.Background())
	if diff := cmp.Diff([]string{"b:latest", "a:1b"}, got); err != nil || diff != "" {
		t.Errorf("%v, models (-want +got):\n%s", err, diff)
	}
	_, err = servePaths(t, nil).Models(context.Background())
	if want := "ollama: 404 page not found (404): check whether an Ollama server runs at this address"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestCheck(t *testing.T) {
	if err := servePaths(t, map[string]string{"/api/show": "{}"}).Check(context.Background(), "m"); err != nil {
		t.Error(err)
	}
}

func TestEmbed(t *testing.T) {
	free := new(int64)
	for _, test := range []struct {
		name, body string
		used       llm.Usage
		class      llm.Class
	}{
		{"counted", `{"embeddings":[[1,2],[3,4]],"prompt_eval_count":6}`, llm.Usage{Input: 6, Cost: free}, ""},
		{"not counted", `{"embeddings":[[1,2],[3,4]]}`, llm.Usage{Input: 2, Cost: free, Estimated: true}, ""},
		{"too few", `{"embeddings":[[1,2]]}`, llm.Usage{Cost: free}, llm.Malformed},
		{"cut", `{"embeddings":[[1,2`, llm.Usage{Cost: free}, llm.Truncated},
		{"an error", `{"error":"input length exceeds maximum context length"}`, llm.Usage{Cost: free}, llm.TooLong},
		{"no such model", `404 {"error":"model \"e\" not found"}`, llm.Usage{Cost: free}, llm.NotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := servePaths(t, map[string]string{"/api/embed": test.body})
			vectors, used, err := p.Embed(context.Background(), "e", []string{"one", "two"})
			if test.class != "" {
				if c := llm.ClassOf(err); err == nil || c != test.class {
					t.Errorf("class %s: %v", c, err)
				}
			} else if diff := cmp.Diff([][]float32{{1, 2}, {3, 4}}, vectors); err != nil || diff != "" {
				t.Errorf("%v, vectors (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(test.used, used); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCloudCostIsUnknown(t *testing.T) {
	p := servePaths(t, map[string]string{"/api/show": "{}", "/api/chat": said + over})
	for id, known := range map[string]bool{"m": true, "m:480b-cloud": false, "m:cloud": false} {
		resp, err := llmtest.Generate(t, p.Model(id), helloRequest())
		if err != nil {
			t.Fatal(err)
		}
		if (resp.Usage.Cost != nil) != known {
			t.Errorf("%s: cost %v", id, resp.Usage.Cost)
		}
	}
}

func TestHosted(t *testing.T) {
	for base, want := range map[string]bool{
		"https://ollama.com:443": true, "ollama.com": true, "https://eu.ollama.com/": true,
		"": false, "127.0.0.1": false, "https://ollama.company.example": false, "https://myollama.com": false, "http://%zz": false,
	} {
		m := New(Config{BaseURL: base}).Model("m").(*model)
		if IsHosted(base) != want || (m.localCost() == nil) != want {
			t.Errorf("%q: hosted %v, cost %v", base, IsHosted(base), m.localCost())
		}
	}
}

func TestMany(t *testing.T) {
	const many = 1000
	var open sync.WaitGroup
	open.Add(many)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/show" {
			_, _ = io.WriteString(w, "{}") // the test notices a lost client
			return
		}
		_, _ = io.WriteString(w, strings.Repeat(said, 20))
		w.(http.Flusher).Flush()
		open.Done()
		open.Wait()
		_, _ = io.WriteString(w, over)
	}))
	defer server.Close()
	model := New(Config{BaseURL: server.URL}).Model("m")
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			resp, err := llm.Collect(model.Generate(context.Background(), helloRequest()))
			if err != nil {
				t.Error(err)
			} else if got := resp.Message.Text(); got != strings.Repeat("word ", 20) {
				t.Errorf("answer %q", got)
			}
		})
	}
	all.Wait()
}
