package gemini

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/internal/wire"
	"ponder/llm/llmtest"
)

func toStream(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString("data: " + line + "\r\n\r\n")
		}
	}
	return b.String()
}

func readAnswer(t *testing.T, status int, kind, body string) (*llm.Response, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		if err := llmtest.WriteInPieces(w, []byte(body), uint64(len(body))); err != nil {
			t.Log(err)
		}
	}))
	t.Cleanup(server.Close)
	return llmtest.Generate(t, New(Config{BaseURL: server.URL, Key: "secret"}).Model("gemini-2.5-pro"), helloRequest())
}

func helloRequest() *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}}
}

const (
	sse   = "text/event-stream"
	plain = "application/json; charset=UTF-8"
	done  = `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":5,"thoughtsTokenCount":2,"toolUsePromptTokenCount":3},"modelVersion":"v","responseId":"r"}`
)

func partsJSON(p string) string { return `{"candidates":[{"content":{"parts":[` + p + `]}}]}` }

func TestAnswers(t *testing.T) {
	own := func(data string) *llm.Opaque {
		return &llm.Opaque{Model: "gemini/gemini-2.5-pro", Data: []byte(data)}
	}
	used := llm.Usage{Input: 9, CacheRead: 4, Output: 7, Reasoning: 2}
	for _, test := range []struct {
		name, kind, body string
		parts            []llm.Part
		finish           llm.Finish
	}{
		{"pieces of text", sse, toStream(partsJSON(`{"text":"a"}`) + "\n" + partsJSON(`{"text":"b"}`) + "\n" + done), []llm.Part{{Text: "ab"}}, llm.FinishStop},
		{"a reason on every piece", sse, toStream(strings.Replace(done, `"finish`, `"content":{"parts":[{"text":"a"}]},"finish`, 1) + "\n" +
			strings.Replace(done, `"finish`, `"content":{"parts":[{"text":"b"}]},"finish`, 1)), []llm.Part{{Text: "ab"}}, llm.FinishStop},
		{"thoughts and signatures", sse, toStream(partsJSON(`{"text":"h","thought":true},{"text":"m","thought":true},{"text":"a"},{"text":"b","thoughtSignature":"s1"},{"text":"c"}`) + "\n" +
			partsJSON(`{"text":"","thoughtSignature":"s2"}`) + "\n" + done),
			[]llm.Part{{Reasoning: "hm"}, {Text: "a"}, {Text: "b", Opaque: own(`"s1"`)}, {Text: "c"}, {Opaque: own(`"s2"`)}}, llm.FinishStop},
		{"calls", sse, toStream(partsJSON(`{"functionCall":{"name":"add","args":{"b":1,"a":2},"id":"x"},"thoughtSignature":"s"}`) + "\n" + partsJSON(`{"functionCall":{"name":"now","id":"y"}}`) + "\n" + done),
			[]llm.Part{
				{Call: &llm.ToolCall{ID: "x", Name: "add", Input: []byte(`{"b":1,"a":2}`)}, Opaque: own(`"s"`)},
				{Call: &llm.ToolCall{ID: "y", Name: "now", Input: []byte(`{}`)}},
			}, llm.FinishTools},
		{"an image", sse, toStream(partsJSON(`{"inlineData":{"mimeType":"image/png","data":"eA=="}}`) + "\n" + done), []llm.Part{{Media: &llm.Media{Type: "image/png", Data: []byte("x")}}}, llm.FinishStop},
		{"a part without a word for it", sse, toStream(partsJSON(`{"executableCode":{"code":"1"}},{}`) + "\n" + done), []llm.Part{{Opaque: own(`{"executableCode":{"code":"1"}}`)}}, llm.FinishStop},
		{"only the first candidate", sse, toStream(`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"b"}]}}]}` + "\n" + done), []llm.Part{{Text: "a"}}, llm.FinishStop},
		{"withheld", sse, toStream(strings.Replace(done, "STOP", "SAFETY", 1)), nil, llm.FinishFilter},
		{"full", sse, toStream(strings.Replace(done, "STOP", "MAX_TOKENS", 1)), nil, llm.FinishLength},
		{"some new reason", sse, toStream(strings.Replace(done, "STOP", "BORED", 1)), nil, llm.FinishOther},
		{"one object", plain, strings.Replace(done, `"finish`, `"content":{"parts":[{"text":"a"}]},"finish`, 1), []llm.Part{{Text: "a"}}, llm.FinishStop},
		{"a list", plain, "[" + partsJSON(`{"text":"a"}`) + "\n,\r\n" + done + "]", []llm.Part{{Text: "a"}}, llm.FinishStop},
		{"an empty count later", sse, toStream(done + "\n" + `{"usageMetadata":{"trafficType":"ON_DEMAND"}}`), nil, llm.FinishStop},
	} {
		t.Run(test.name, func(t *testing.T) {
			resp, err := readAnswer(t, 200, test.kind, test.body)
			if err != nil {
				t.Fatal(err)
			}
			want := &llm.Response{
				Message: llm.Message{Role: llm.Assistant, Parts: test.parts}, Finish: test.finish,
				Model: "gemini/gemini-2.5-pro", Served: "v", ID: "r", Usage: used,
			}
			if diff := cmp.Diff(want, resp); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	const maxCount = 1 << 28
	for _, test := range []struct {
		counts string
		want   llm.Usage
	}{
		{`{"promptTokenCount":10,"candidatesTokenCount":9000000000000000000,"thoughtsTokenCount":9000000000000000000}`, llm.Usage{Input: 10, Output: 2 * maxCount, Reasoning: maxCount}},
		{`{"promptTokenCount":"10","candidatesTokenCount":5.0}`, llm.Usage{Input: 10, Output: 5}},
		{`{"promptTokenCount":10}`, llm.Usage{Input: 10, Output: 2, Estimated: true}},
	} {
		resp, err := readAnswer(t, 200, sse, toStream(partsJSON(`{"text":"123456"}`)+"\n"+`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":`+test.counts+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, resp.Usage); diff != "" {
			t.Errorf("%s: usage (-want +got):\n%s", test.counts, diff)
		}
	}
}

func TestFailures(t *testing.T) {
	asked := llm.Usage{Input: 2, Estimated: true}
	guess := llm.Usage{Input: 2, Output: 3, Estimated: true}
	used := llm.Usage{Input: 9, CacheRead: 4, Output: 7, Reasoning: 2}
	const ended = "the stream ended before the answer was complete"
	for _, test := range []struct {
		name   string
		status int
		kind   string
		body   string
		want   llm.Error
	}{
		{"blocked", 200, sse, toStream(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":12}}`),
			llm.Error{Class: llm.Filtered, Message: "the prompt was blocked: prohibited_content", Advice: "rephrase the question, or use another model", Usage: llm.Usage{Input: 12}}},
		{"malformed call", 200, sse, toStream(strings.Replace(done, `"STOP"`, `"MALFORMED_FUNCTION_CALL","finishMessage":"print(x)"`, 1)),
			llm.Error{Class: llm.Malformed, Message: "the model failed: malformed_function_call: print(x)", Usage: used}},
		{"error in band", 200, sse, toStream(partsJSON(`{"text":"eight bytes"}`) + "\n" + `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
			llm.Error{Class: llm.Transient, Status: 503, Message: "The model is overloaded.", Usage: llm.Usage{Input: 2, Output: 4, Estimated: true}}},
		{"list of errors", 200, plain, `[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53s"}]}}]`,
			llm.Error{Class: llm.RateLimited, Status: 429, Message: "Resource exhausted", RetryAfter: 53 * time.Second}},
		{"limit", 429, plain, `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"1.5s"}]}}`,
			llm.Error{Class: llm.RateLimited, Status: 429, Message: "quota", RetryAfter: 1500 * time.Millisecond}},
		{"wrong key", 400, plain, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`,
			llm.Error{Class: llm.Auth, Status: 400, Message: "key rejected", Advice: "set GEMINI_API_KEY"}},
		{"no such model", 404, plain, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`,
			llm.Error{Class: llm.NotFound, Status: 404, Message: "models/x is not found", Advice: "check the model's name and the base URL"}},
		{"too long", 400, plain, `{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}`,
			llm.Error{Class: llm.TooLong, Status: 400, Message: "The input token count (9) exceeds the maximum number of tokens allowed (8).", Limits: llm.Limits{Context: 8, Prompt: 9}, Advice: "give it less to read, or use a model with a larger context"}},
		{"cut after text", 200, sse, toStream(partsJSON(`{"text":"8 bytes"}`)), llm.Error{Class: llm.Truncated, Message: ended, Usage: llm.Usage{Input: 2, Output: 2, Estimated: true}}},
		{"cut in a piece", 200, sse, toStream(partsJSON(`{"text":"some words"}`)) + `data: {"cand`, llm.Error{Class: llm.Truncated, Message: "the answer ends within a piece", Usage: guess}},
		{"cut in an object", 200, plain, done[:60], llm.Error{Class: llm.Truncated, Message: "the answer ends within a piece", Usage: asked}},
		{"cut in a list", 200, plain, "[" + done, llm.Error{Class: llm.Truncated, Message: "the answer ends within a list", Usage: asked}},
		{"nothing", 200, sse, "", llm.Error{Class: llm.Truncated, Message: ended, Usage: asked}},
		{"not JSON", 200, sse, "data: hello\n\n", llm.Error{Class: llm.Malformed, Message: "cannot read a piece of the answer", Usage: asked}},
		{"wrong types", 200, sse, toStream(partsJSON(`{"text":7}`)), llm.Error{Class: llm.Malformed, Message: "cannot read a part of the answer", Usage: asked}},
		{"a broken image", 200, sse, toStream(partsJSON(`{"inlineData":{"data":"!"}}`)), llm.Error{Class: llm.Malformed, Message: "cannot read an image of the answer", Usage: asked}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAnswer(t, test.status, test.kind, test.body)
			var got *llm.Error
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			test.want.Model = "gemini/gemini-2.5-pro"
			if diff := cmp.Diff(&test.want, got, cmpopts.IgnoreFields(llm.Error{}, "Err")); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func foldBody(f *fold, body []byte) (resp *llm.Response, err error) {
	answer := &http.Response{Body: io.NopCloser(bytes.NewReader(body))}
	ask := wire.RequestInfo{Model: f.full, Size: f.size}
	ask.Stream(answer, eachElement(wire.Data(answer.Body)), f, func(d llm.Delta, e error) bool {
		resp, err = d.Done, e
		return true
	})
	return resp, err
}

// No prefix before the finish reason is an answer.
func TestCuts(t *testing.T) {
	for _, rec := range llmtest.Recordings(t, "gem") {
		if !strings.HasPrefix(rec.Type, sse) {
			continue
		}
		last := strings.LastIndex(string(rec.Body), `"finishReason"`)
		for n := 0; n < last; n += 10 {
			resp, err := foldBody(&fold{full: "gemini/x", size: 1}, rec.Body[:n])
			if resp != nil {
				t.Fatalf("%s cut at %d of %d is an answer", rec.File, n, last)
			}
			if c := llm.ClassOf(err); c != llm.Truncated {
				t.Fatalf("%s cut at %d: %s: %v", rec.File, n, c, err)
			}
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte(toStream(partsJSON(`{"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"x","args":{}}}`) + "\n" + done)))
	f.Add([]byte(toStream(`[` + partsJSON(`{"text":"a","thought":true},{"x":1}`) + `]` + "\n" + done)))
	f.Add([]byte(toStream(`{"promptFeedback":{"blockReason":"SAFETY"}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		fold := &fold{full: "gemini/x", size: 10}
		resp, err := foldBody(fold, body)
		if (resp == nil) == (err == nil) {
			t.Fatalf("answer %v and error %v", resp, err)
		}
		if resp == nil {
			return
		}
		if u := resp.Usage; u.Input < 0 || u.Output < 0 || u.Reasoning > u.Output {
			t.Fatalf("usage %+v", u)
		}
		again := conversation{model: "gemini/x"}
		contents, err := again.writeContents([]llm.Message{resp.Message})
		if err != nil {
			return // an image without a type
		}
		if _, err := wire.Body(contents); err != nil {
			t.Fatalf("the answer cannot be written: %v", err)
		}
	})
}

func BenchmarkFold(b *testing.B) {
	var longest []byte
	for _, rec := range llmtest.Recordings(b, "gem") {
		if strings.HasPrefix(rec.Type, sse) && len(rec.Body) > len(longest) {
			longest = rec.Body
		}
	}
	b.SetBytes(int64(len(longest)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := foldBody(&fold{full: "gemini/x"}, longest); err != nil {
			b.Fatal(err)
		}
	}
}
