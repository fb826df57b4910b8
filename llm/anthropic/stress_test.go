package anthropic

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

func foldBody(f *fold, body []byte) (resp *llm.Response, err error) {
	answer := &http.Response{Body: io.NopCloser(bytes.NewReader(body))}
	ask := wire.RequestInfo{Model: f.full, Size: f.size}
	ask.Stream(answer, wire.Data(answer.Body), f, func(d llm.Delta, e error) bool {
		resp, err = d.Done, e
		return true
	})
	return resp, err
}

func FuzzFold(f *testing.F) {
	f.Add([]byte(toStream(begin+stopLines("end_turn"))), "")
	f.Add([]byte(toStream(begin+`
		{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"answer","input":{}}}
		{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`+stopLines("tool_use"))), "answer")
	f.Add([]byte(`{"type":"message","content":[{"type":"server_tool_use","input":{}},{"type":"thinking"}],"stop_reason":"x"}`), "")
	f.Add([]byte(toStream(`{"type":"content_block_start","index":0,"content_block":{"type":"x"}}
		{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"nul"}}`+stopLines("x"))), "")
	f.Fuzz(func(t *testing.T, body []byte, tool string) {
		fold := &fold{full: "anthropic/x", size: 10, answer: tool}
		resp, err := foldBody(fold, body)
		if (resp == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", resp, err)
		}
		if used := fold.Usage(); used.Input < 0 || used.Output < 0 || used.Reasoning > used.Output {
			t.Fatalf("usage %+v", used)
		}
		if resp == nil {
			return
		}
		again := conversation{model: "anthropic/x"}
		messages, err := again.writeMessages([]llm.Message{resp.Message})
		if err != nil {
			t.Fatalf("the answer cannot go back: %v", err)
		}
		if _, err := wire.Body(messages); err != nil {
			t.Fatalf("the answer cannot be written: %v", err)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["string","null"],"minLength":3}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		out, ok := strictSchema(schema)
		if !ok {
			return
		}
		if _, err := wire.ParseObject(out); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
	})
}

func TestMany(t *testing.T) {
	const many = 1000
	var open sync.WaitGroup
	open.Add(many)
	body := begin + `
		{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		` + strings.Repeat(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word "}}`+"\n", 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, toStream(body)) // the test notices a lost client
		w.(http.Flusher).Flush()
		open.Done()
		open.Wait()
		_, _ = io.WriteString(w, toStream(stopLines("end_turn")))
	}))
	defer server.Close()
	model := New(Config{BaseURL: server.URL}).Model("claude-sonnet-4-5")
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

func BenchmarkFold(b *testing.B) {
	var longest []byte
	for _, rec := range llmtest.Recordings(b, "anth") {
		if strings.HasPrefix(rec.Type, "text/event-stream") && len(rec.Body) > len(longest) {
			longest = rec.Body
		}
	}
	b.SetBytes(int64(len(longest)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := foldBody(&fold{full: "anthropic/x"}, longest); err != nil {
			b.Fatal(err)
		}
	}
}
