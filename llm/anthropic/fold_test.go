package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func toStream(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "event: x\ndata: %s\n\n", line)
		}
	}
	return b.String()
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","model":"claude-x","content":[],"usage":{"input_tokens":10,"cache_read_input_tokens":3,"cache_creation_input_tokens":4,"output_tokens":1}}}`
	end   = `{"type":"message_stop"}`
)

func stopEvent(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":7}}`, reason)
}

func readAnswer(t *testing.T, status int, kind, body string, req *llm.Request) (*llm.Response, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		if err := llmtest.WriteInPieces(w, []byte(body), uint64(len(body))); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(server.Close)
	return llmtest.Generate(t, New(Config{BaseURL: server.URL, Key: "secret"}).Model("claude-sonnet-4-5"), req)
}

func helloRequest() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}}
}

func TestAnswers(t *testing.T) {
	used := llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 7}
	own := func(data string) *llm.Opaque {
		return &llm.Opaque{Model: "anthropic/claude-sonnet-4-5", Data: []byte(data)}
	}
	for _, test := range []struct {
		name   string
		body   string
		parts  []llm.Part
		finish llm.Finish
	}{
		{"text", begin + `
			{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}
			{"type":"ping"}
			{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}
			{"type":"content_block_stop","index":0}
			` + stopEvent("end_turn") + "\n" + end,
			[]llm.Part{{Text: "ab"}}, llm.FinishStop},
		{"thoughts between other parts", begin + `
			{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}
			{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}
			{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}
			{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"cmVk"}}
			{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}
			{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"so"}}
			{"type":"content_block_start","index":3,"content_block":{"type":"thinking","thinking":""}}
			{"type":"content_block_delta","index":3,"delta":{"type":"signature_delta","signature":"bm9uZQ"}}
			{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"t1","name":"add","input":{}}}
			{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}
			{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":":1}"}}
			{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"t2","name":"now","input":{}}}
			` + stopEvent("tool_use") + "\n" + end,
			[]llm.Part{
				{Reasoning: "hm", Opaque: own(`{"type":"thinking","signature":"c2ln"}`)},
				{Opaque: own(`{"type":"redacted_thinking","data":"cmVk"}`)},
				{Text: "so"},
				{Opaque: own(`{"type":"thinking","signature":"bm9uZQ"}`)},
				{Call: &llm.ToolCall{ID: "t1", Name: "add", Input: []byte(`{"a":1}`)}},
				{Call: &llm.ToolCall{ID: "t2", Name: "now", Input: []byte(`{}`)}},
			}, llm.FinishTools},
		{"blocks at once", begin + `
			{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
			{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
			{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}
			{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}
			` + stopEvent("stop_sequence") + "\n" + end,
			[]llm.Part{{Text: "a"}, {Text: "b"}}, llm.FinishStop},
		{"input that is not JSON", begin + `
			{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"add","input":{}}}
			{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\": 1"}}
			` + stopEvent("max_tokens") + "\n" + end,
			[]llm.Part{{Call: &llm.ToolCall{ID: "t1", Name: "add", Input: []byte(`"{\"a\": 1"`)}}}, llm.FinishLength},
		{"refusal", begin + stopLines("refusal"), nil, llm.FinishFilter},
		{"window full", begin + stopLines("model_context_window_exceeded"), nil, llm.FinishLength},
		{"unknown kinds", begin + `
			{"type":"news","index":3}
			{"type":"content_block_start","index":0,"content_block":{"type":"dream","of":"sheep"}}
			{"type":"content_block_delta","index":0,"delta":{"type":"dream_delta","more":1}}
			` + stopEvent("dreamt") + "\n" + end,
			[]llm.Part{{Opaque: own(`{"type":"dream","of":"sheep"}`)}}, llm.FinishOther},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := readAnswer(t, 200, "text/event-stream", toStream(test.body), helloRequest())
			if err != nil {
				t.Fatal(err)
			}
			want := &llm.Response{
				Message: llm.Message{Role: llm.Assistant, Parts: test.parts}, Finish: test.finish,
				Model: "anthropic/claude-sonnet-4-5", Served: "claude-x", ID: "msg_1", Usage: used,
			}
			if diff := cmp.Diff(want, resp); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func stopLines(reason string) string { return "\n" + stopEvent(reason) + "\n" + end }

func TestUsage(t *testing.T) {
	text := begin + `
		{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"four letters and so on"}}
		`
	for _, test := range []struct {
		name, last string
		want       llm.Usage
	}{
		{"a fraction and a word", `,"usage":{"input_tokens":"11","output_tokens":7.0}`, llm.Usage{Input: 11, CacheRead: 3, CacheWrite: 4, Output: 7}},
		{"no count of what was written", ``, llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 7, Estimated: true}},
		{"no number", `,"usage":{"output_tokens":{}}`, llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 7, Estimated: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := readAnswer(t, 200, "text/event-stream", toStream(text+`{"type":"message_delta","delta":{"stop_reason":"end_turn"}`+test.last+"}\n"+end), helloRequest())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, resp.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	text := begin + `
		{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
		{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"four letters and so on"}}
		`
	guess := llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 7, Estimated: true}
	asked := llm.Usage{Input: 2, Estimated: true}
	sse, plain := "text/event-stream", "application/json"
	for _, test := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   llm.Error
	}{
		{"overloaded in band", 200, sse, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
			llm.Error{Class: llm.Transient, Message: "Overloaded"}},
		{"overloaded after text", 200, sse, toStream(text + `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
			llm.Error{Class: llm.Transient, Message: "Overloaded", Usage: guess}},
		{"error event in words", 200, sse, "event: error\ndata: upstream gone\n\n",
			llm.Error{Class: llm.Transient, Message: "upstream gone"}},
		{"error for a message", 200, plain, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`,
			llm.Error{Class: llm.RateLimited, Message: "slow"}},
		{"cut after text", 200, sse, toStream(text), llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete", Usage: guess}},
		{"cut before the stop", 200, sse, toStream(text + stopEvent("end_turn")),
			llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete", Usage: llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 7}}},
		{"stop without a reason", 200, sse, toStream(begin + "\n" + end),
			llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete", Usage: llm.Usage{Input: 10, CacheRead: 3, CacheWrite: 4, Output: 1}}},
		{"cut in an event", 200, sse, `data: {"type":"mess`, llm.Error{Class: llm.Truncated, Message: "the answer ends within an event", Usage: asked}},
		{"nothing", 200, sse, "", llm.Error{Class: llm.Truncated, Message: "the stream ended before the answer was complete", Usage: asked}},
		{"not JSON", 200, sse, "data: hello\n\n", llm.Error{Class: llm.Malformed, Message: "cannot read an event of the answer", Usage: asked}},
		{"wrong types", 200, sse, toStream(`{"type":"content_block_delta","index":"x"}`), llm.Error{Class: llm.Malformed, Message: "cannot read an event of the answer", Usage: asked}},
		{"delta of nothing", 200, sse, toStream(`{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"x"}}`),
			llm.Error{Class: llm.Malformed, Message: "cannot read a block without a start of the answer", Usage: asked}},
		{"no key", 401, plain, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`,
			llm.Error{Class: llm.Auth, Status: 401, Message: "key rejected", Advice: "set ANTHROPIC_API_KEY"}},
		{"overloaded", 529, plain, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			llm.Error{Class: llm.Transient, Status: 529, Message: "Overloaded"}},
		{"no such model", 404, plain, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`,
			llm.Error{Class: llm.NotFound, Status: 404, Message: "model: claude-9", Advice: "check the model's name and the base URL"}},
		{"too long", 400, plain, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}`,
			llm.Error{Class: llm.TooLong, Status: 400, Message: "prompt is too long: 9 tokens > 8 maximum", Limits: llm.Limits{Context: 8, Prompt: 9}, Advice: "give it less to read, or use a model with a larger context"}},
		{"no money", 400, plain, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`,
			llm.Error{Class: llm.Payment, Status: 400, Message: "Your credit balance is too low", Advice: "check the account's balance"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAnswer(t, test.status, test.kind, test.body, helloRequest())
			var got *llm.Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			test.want.Model = "anthropic/claude-sonnet-4-5"
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(llm.Error{}, "Err")); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// No prefix is an answer.
func TestCuts(t *testing.T) {
	for _, rec := range llmtest.Recordings(t, "anth") {
		if !strings.HasPrefix(rec.Type, "text/event-stream") || len(rec.Body) > 20000 {
			continue
		}
		whole := strings.Index(string(rec.Body), `{"type":"message_stop"`)
		for n := 0; n < whole; n += 10 {
			f := &fold{full: "anthropic/x", size: 1}
			resp, err := foldBody(f, rec.Body[:n])
			if err == nil || resp != nil {
				t.Fatalf("%s cut at %d of %d is an answer", rec.File, n, whole)
			}
			if c := llm.ClassOf(err); c != llm.Truncated {
				t.Fatalf("%s cut at %d: %s: %v", rec.File, n, c, err)
			}
		}
	}
}
