package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func TestSignatureRefused(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if sent = append(sent, string(body)); strings.Contains(string(body), "thinking") {
			w.WriteHeader(http.StatusBadRequest)
			_, err = io.WriteString(w, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}")
		} else {
			w.Header().Set("Content-Type", "application/json")
			_, err = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	req := helloRequest()
	req.Messages = append(req.Messages,
		llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Reasoning: "hm", Opaque: &llm.Opaque{Model: "anthropic/claude-sonnet-4-5", Data: json.RawMessage(`{"type":"thinking","signature":"s"}`)}}, {Text: "hello"},
		}}, llm.Say(llm.User, "again"))
	model := New(Config{BaseURL: server.URL + "/v1/"}).Model("claude-sonnet-4-5")
	resp, err := llmtest.Generate(t, model, req)
	if err != nil || resp.Message.Text() != "hi" {
		t.Fatalf("answer %v, %v", resp, err)
	}
	if len(sent) != 2 {
		t.Errorf("%d requests, want 2", len(sent))
	}

	// Without opaque parts there is no second request.
	sent = nil
	_, err = llmtest.Generate(t, model, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "thinking")}})
	if c := llm.ClassOf(err); c != llm.BadRequest || len(sent) != 1 {
		t.Errorf("%d requests, then %s", len(sent), c)
	}
}

func TestCheck(t *testing.T) {
	var path, key string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, key = r.URL.EscapedPath(), r.Header.Get("x-api-key")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`)
	}))
	defer server.Close()
	p := New(Config{BaseURL: server.URL, Key: "secret"})
	if err := p.Check(context.Background(), "claude x"); err != nil {
		t.Error(err)
	}
	if path != "/v1/models/claude%20x" || key != "secret" {
		t.Errorf("asked for %s with key %q", path, key)
	}
	status = http.StatusNotFound
	if err := p.Check(context.Background(), "x"); err != nil {
		t.Errorf("a server without a list of models: %v", err)
	}
	p.official = true
	if c := llm.ClassOf(p.Check(context.Background(), "x")); c != llm.NotFound {
		t.Errorf("class %s", c)
	}
	if err := New(Config{Vertex: true, BaseURL: "http://127.0.0.1:1"}).Check(context.Background(), "x"); err != nil {
		t.Error(err)
	}
}

func TestEmbed(t *testing.T) {
	_, _, err := New(Config{}).Embed(context.Background(), "x", []string{"a"})
	if c := llm.ClassOf(err); c != llm.BadRequest {
		t.Errorf("class %s: %v", c, err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, toStream(begin+`
			{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi. "}}`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	var last error
	for d, err := range New(Config{BaseURL: server.URL}).Model("claude-sonnet-4-5").Generate(ctx, helloRequest()) {
		if last = err; d.Text != "" {
			cancel()
		}
	}
	<-gone // the connection closed
	if c := llm.ClassOf(last); c != llm.Cancelled {
		t.Errorf("class %s: %v", c, last)
	}
	var e *llm.Error
	if !errors.As(last, &e) || e.Usage.Input != 10 || !e.Usage.Estimated {
		t.Errorf("usage of %+v", e)
	}
}

func TestLeftEarly(t *testing.T) {
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, toStream(begin+`
			{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi. "}}`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	for range New(Config{BaseURL: server.URL}).Model("claude-sonnet-4-5").Generate(context.Background(), helloRequest()) {
		break
	}
	<-gone
}
