package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"ponder/llm"
	"ponder/llm/internal/wire"
	"ponder/llm/llmtest"
)

func readAll(f wire.Fold, body []byte) (resp *llm.Response, err error) {
	answer := &http.Response{Body: io.NopCloser(bytes.NewReader(body))}
	wire.RequestInfo{Model: "acme/m", Size: 10}.Stream(answer, wire.Data(answer.Body), f, func(d llm.Delta, e error) bool {
		resp, err = d.Done, e
		return true
	})
	return resp, err
}

func toSSE(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString("data: " + line + "\n\n")
		}
	}
	return b.String()
}

func TestMany(t *testing.T) {
	const many, words = 1000, 20
	for name, dialect := range map[string]struct{ begin, word, end string }{
		"chat": {
			`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
			`{"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"word "}}]}`,
			`{"id":"c","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n[DONE]",
		},
		"responses": {
			`{"type":"response.created","response":{"id":"r","model":"m","status":"in_progress"}}` + "\n" +
				`{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i"}}`,
			`{"type":"response.output_text.delta","output_index":0,"item_id":"i","delta":"word "}`,
			`{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":2}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var open sync.WaitGroup
			open.Add(many)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, toSSE(dialect.begin+"\n"+strings.Repeat(dialect.word+"\n", words))) // the test notices a lost client
				w.(http.Flusher).Flush()
				open.Done()
				open.Wait()
				_, _ = io.WriteString(w, toSSE(dialect.end))
			}))
			defer server.Close()
			model := New(Config{BaseURL: server.URL, Responses: name == "responses"}).Model("m")
			var all sync.WaitGroup
			for range many {
				all.Go(func() {
					req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}}
					resp, err := llm.Collect(model.Generate(context.Background(), req))
					if err != nil {
						t.Error(err)
					} else if got := resp.Message.Text(); got != strings.Repeat("word ", words) {
						t.Errorf("answer %q", got)
					}
				})
			}
			all.Wait()
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for dialect, open := range map[string]func() wire.Fold{
		"oaichat": func() wire.Fold { return &chatFold{model: "acme/m"} },
		"oairesp": func() wire.Fold { return &responsesFold{model: "acme/m"} },
	} {
		b.Run(dialect, func(b *testing.B) {
			var longest []byte
			for _, rec := range llmtest.Recordings(b, dialect) {
				if strings.HasPrefix(rec.Type, "text/event-stream") && len(rec.Body) > len(longest) {
					longest = rec.Body
				}
			}
			b.SetBytes(int64(len(longest)))
			b.ReportMetric(float64(bytes.Count(longest, []byte("data: "))), "events")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readAll(open(), longest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
