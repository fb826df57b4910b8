package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func callChunk(pieces string) string {
	return `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + pieces + "]}}]}\n\n"
}

func event1(typ, rest string) string {
	return "event: " + typ + "\ndata: {\"type\":\"" + typ + "\"" + rest + "}\n\n"
}

// The message has the text so far.
func cumulatedChunk(delta, message, finish string) string {
	return fmt.Sprintf(`data: {"id":"c1","model":"m-1","object":"chat.completion","choices":[{"index":0,"finish_reason":%q,"message":{"role":"assistant","content":%q},"delta":{"role":"assistant","content":%q}}]}`+"\n\n", finish, message, delta)
}

const completed = `,"response":{"id":"r1","model":"m-1","status":"completed","error":null,"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15}}`

var used = llm.Usage{Input: 10, Output: 5} // usage in counted

func TestAnswers(t *testing.T) {
	one := func(id, name string, in any) []summaryCall { return []summaryCall{{id, name, in}} }
	x1 := object{"x": 1.0}
	both := []summaryCall{{"a", "f", x1}, {"b", "g", object{"y": 2.0}}}
	tests := []struct {
		name string
		chat string
		resp string // in the other dialect
		want responseSummary
	}{
		{name: "text", chat: sayChunk("Hel") + sayChunk("lo") + finish + counted + done,
			resp: event1("response.output_text.delta", `,"delta":"Hel"`) + event1("response.output_text.delta", `,"delta":"lo"`) + event1("response.completed", completed),
			want: responseSummary{Text: "Hello", Finish: llm.FinishStop, Usage: used}},
		{name: "the message so far beside deltas", chat: cumulatedChunk("", "", "") + cumulatedChunk("Hel", "Hel", "") + cumulatedChunk("lo", "Hello", "") + cumulatedChunk("", "Hello", "stop") + counted + done,
			want: responseSummary{Text: "Hello", Finish: llm.FinishStop, Usage: used}},
		{name: "only DONE", chat: sayChunk("Hi") + counted + done, want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "only a finish reason", chat: sayChunk("Hi") + counted + finish, want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "usage on the last chunk", chat: sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}` + "\n\n" + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "usage on every chunk", chat: `data: {"choices":[{"delta":{"content":"Hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}` + "\n\n" + finish + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "usage of groq", chat: sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":5}}}` + "\n\n" + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "no usage", chat: sayChunk("123456") + finish + done,
			resp: event1("response.output_text.delta", `,"delta":"123456"`) + event1("response.completed", `,"response":{"status":"completed"}`),
			want: responseSummary{Text: "123456", Finish: llm.FinishStop, Usage: llm.Usage{Input: 1, Output: 2, Estimated: true}}},
		{name: "length", chat: sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"length"}]}` + "\n\n" + counted + done,
			resp: event1("response.output_text.delta", `,"delta":"Hi"`) + event1("response.incomplete", `,"response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":10,"output_tokens":5}}`),
			want: responseSummary{Text: "Hi", Finish: llm.FinishLength, Usage: used}},
		{name: "filtered", chat: sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"content_filter"}]}` + "\n\n" + counted + done,
			resp: event1("response.output_text.delta", `,"delta":"Hi"`) + event1("response.incomplete", `,"response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"usage":{"input_tokens":10,"output_tokens":5}}`),
			want: responseSummary{Text: "Hi", Finish: llm.FinishFilter, Usage: used}},
		{name: "refusal", chat: `data: {"choices":[{"delta":{"refusal":"No."}}]}` + "\n\n" + finish + counted + done,
			resp: event1("response.refusal.delta", `,"delta":"No."`) + event1("response.completed", completed),
			want: responseSummary{Text: "No.", Finish: llm.FinishFilter, Usage: used}},
		{name: "unknown reason", chat: sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"bored"}]}` + "\n\n" + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishOther, Usage: used}},
		{name: "other choices", chat: sayChunk("Hi") + `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}` + "\n\n" + finish + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "null and missing fields", chat: `data: {"choices":[{"delta":{"content":null,"role":"assistant","tool_calls":null,"reasoning":null}}]}` + "\n\n" + `data: {"choices":null}` + "\n\ndata: {}\n\n" + sayChunk("Hi") + finish + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "fields of a wrong type", chat: `data: {"id":7,"model":["x"],"choices":[{"delta":{"content":"Hi","reasoning":3}}]}` + "\n\n" + finish + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},

		{name: "call in pieces", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`) + callChunk(`{"index":0,"function":{"arguments":"{\"x\""}}`) + callChunk(`{"index":0,"function":{"arguments":":1}"}}`) + finish + counted + done,
			resp: event1("response.function_call_arguments.delta", `,"delta":"{\"x\":1}"`) + event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`) + event1("response.completed", completed),
			want: responseSummary{Calls: one("a", "f", x1), Finish: llm.FinishTools, Usage: used}},
		{name: "index missing", chat: callChunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + callChunk(`{"function":{"arguments":":1}"}}`) + callChunk(`{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`) + finish + counted + done,
			want: responseSummary{Calls: both, Finish: llm.FinishTools, Usage: used}},
		{name: "index missing, pieces in turn", chat: callChunk(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + callChunk(`{"id":"b","function":{"name":"g","arguments":"{\"y\""}}`) + callChunk(`{"id":"a","function":{"arguments":":1}"}}`) + callChunk(`{"id":"b","function":{"arguments":":2}"}}`) + finish + counted + done,
			want: responseSummary{Calls: both, Finish: llm.FinishTools, Usage: used}},
		{name: "id and name repeated at the end", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`) + callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`) + finish + counted + done,
			want: responseSummary{Calls: one("a", "f", x1), Finish: llm.FinishTools, Usage: used}},
		{name: "id and name repeated", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`) + callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`) + finish + counted + done,
			want: responseSummary{Calls: one("a", "f", x1), Finish: llm.FinishTools, Usage: used}},
		{name: "all at index 0", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`) + callChunk(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`) + finish + counted + done,
			want: responseSummary{Calls: both, Finish: llm.FinishTools, Usage: used}},
		{name: "interleaved", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}`) + callChunk(`{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}`) + finish + counted + done,
			want: responseSummary{Calls: both, Finish: llm.FinishTools, Usage: used}},
		{name: "arguments are an object", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`) + finish + counted + done,
			resp: event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"a","name":"f","arguments":{"x":1}}`) + event1("response.completed", completed),
			want: responseSummary{Calls: one("a", "f", x1), Finish: llm.FinishTools, Usage: used}},
		{name: "no arguments", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f"}}`) + finish + counted + done,
			want: responseSummary{Calls: one("a", "f", object{}), Finish: llm.FinishTools, Usage: used}},
		{name: "an empty call", chat: callChunk(`{"index":0}`) + sayChunk("Hi") + finish + counted + done, want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "arguments that are no JSON", chat: callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{x"}}`) + finish + counted + done,
			want: responseSummary{Calls: one("a", "f", "{x"), Finish: llm.FinishTools, Usage: used}},

		{name: "reasoning_content", chat: `data: {"choices":[{"delta":{"reasoning_content":"why"}}]}` + "\n\n" + sayChunk("Hi") + finish + counted + done,
			resp: event1("response.reasoning_summary_text.delta", `,"delta":"why","summary_index":0`) + event1("response.output_item.done", `,"item":{"type":"reasoning","summary":[{"text":"why"}]}`) + event1("response.output_text.delta", `,"delta":"Hi"`) + event1("response.completed", completed),
			want: responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{name: "reasoning in both fields", chat: `data: {"choices":[{"delta":{"reasoning_content":"why","reasoning":"why"}}]}` + "\n\n" + sayChunk("Hi") + finish + counted + done,
			want: responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{name: "reasoning in details alone", chat: `data: {"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"why"}]}}]}` + "\n\n" + sayChunk("Hi") + finish + counted + done,
			want: responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{name: "paragraphs of a summary",
			resp: event1("response.reasoning_summary_text.delta", `,"delta":"one","summary_index":0`) + event1("response.reasoning_summary_text.delta", `,"delta":"two","summary_index":1`) + event1("response.output_item.done", `,"item":{"type":"reasoning","summary":[{"text":"one"},{"text":"two"}]}`) + event1("response.completed", completed),
			want: responseSummary{Reasoning: "one\n\ntwo", Finish: llm.FinishStop, Usage: used}},
		{name: "nothing streamed",
			resp: event1("response.output_item.done", `,"item":{"type":"reasoning","summary":[{"text":"one"},{"text":"two"}]}`) + event1("response.output_item.done", `,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}`) + event1("response.completed", completed),
			want: responseSummary{Text: "Hi", Reasoning: "one\n\ntwo", Finish: llm.FinishStop, Usage: used}},
		{name: "think tags", chat: sayChunk("<th") + sayChunk("ink>wh") + sayChunk("y</thi") + sayChunk("nk>\n\nHi") + finish + counted + done,
			want: responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{name: "think tags beside a field of reasoning", chat: `data: {"choices":[{"delta":{"reasoning_content":"why"}}]}` + "\n\n" + sayChunk("<think> is a tag") + finish + counted + done,
			want: responseSummary{Text: "<think> is a tag", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{name: "what was written is not counted", chat: sayChunk("123456") + `data: {"choices":[],"usage":{"prompt_tokens":10}}` + "\n\n" + finish + done,
			want: responseSummary{Text: "123456", Finish: llm.FinishStop, Usage: llm.Usage{Input: 10, Output: 2, Estimated: true}}},
		{name: "a cost that is said once", chat: sayChunk("Hi") + `data: {"choices":[],"usage":{"cost":0.5}}` + "\n\n" + finish + counted + done,
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: llm.Usage{Input: 10, Output: 5, Cost: new(int64(500_000))}}},
		{name: "a last event without a status",
			resp: event1("response.output_text.delta", `,"delta":"Hi"`) + event1("response.completed", `,"response":{"usage":{"input_tokens":10,"output_tokens":5}}`),
			want: responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{name: "incomplete without a reason",
			resp: event1("response.output_text.delta", `,"delta":"Hi"`) + event1("response.incomplete", `,"response":{"usage":{"input_tokens":10,"output_tokens":5}}`),
			want: responseSummary{Text: "Hi", Finish: llm.FinishOther, Usage: used}},
		{name: "a tag that is none", chat: sayChunk("<thi") + finish + counted + done, want: responseSummary{Text: "<thi", Finish: llm.FinishStop, Usage: used}},
		{name: "parts as mistral has them", chat: `data: {"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"why"}]}]}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":[{"type":"text","text":"Hi"}]}}]}` + "\n\n" + finish + counted + done,
			want: responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for dialect, body := range map[string]string{"chat": tt.chat, "responses": tt.resp} {
				if body == "" {
					continue
				}
				_, p := serveCanned(t, Config{Chat: dialect == "chat"}, streamAnswer(body))
				resp, err := llmtest.Generate(t, p.Model("m"), askRequest("123"))
				if err != nil {
					t.Errorf("%s: %v", dialect, err)
					continue
				}
				if diff := cmp.Diff(tt.want, summarizeResponse(t, resp), cmpopts.IgnoreFields(responseSummary{}, "ID", "Served")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", dialect, diff)
				}
			}
		})
	}
}

func TestWholeAnswers(t *testing.T) {
	tests := []struct {
		name, body string
		ctype      string
		config     Config
		want       responseSummary
	}{
		{"chat", `{"id":"c","object":"chat.completion","model":"m-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","reasoning":"why"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json; charset=utf-8", Config{Chat: true}, responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used, ID: "c", Served: "m-1"}},
		{"chat without a reason", `{"object":"chat.completion","choices":[{"message":{"content":"<think>why</think>Hi"}}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json", Config{Chat: true}, responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
		{"chat with the wrong content type", "{\n  \"object\": \"chat.completion\",\n  \"choices\": [{\"message\": {\"content\": \"Hi\"}, \"finish_reason\": \"stop\"}], \"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}\n",
			"text/plain", Config{Chat: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{"response", `{"object":"response","id":"r","model":"m-1","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]},{"type":"web_search_call","id":"w"}],"usage":{"input_tokens":10,"output_tokens":5}}`,
			"application/json", Config{Responses: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used, ID: "r", Served: "m-1"}},
		{"chat with an empty delta", `{"object":"chat.completion","choices":[{"delta":{"role":"assistant","content":""},"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json", Config{Chat: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{"chat with a delta that says the same", `{"object":"chat.completion","choices":[{"delta":{"content":"Hi"},"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json", Config{Chat: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used}},
		{"chat with calls of one id and index", `{"object":"chat.completion","choices":[{"message":{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json", Config{Chat: true}, responseSummary{Calls: []summaryCall{{"a", "f", object{"x": 1.0}}, {"b", "f", object{"x": 1.0}}}, Finish: llm.FinishTools, Usage: used}},
		{"stream with the wrong content type", ": begins\n\n" + sayChunk("Hi") + finish + counted + done,
			"application/json", Config{Chat: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used, ID: "c1", Served: "m-1"}},
		{"response in the last event alone", event1("response.completed", `,"response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":10,"output_tokens":5}}`),
			"text/event-stream", Config{Responses: true}, responseSummary{Text: "Hi", Finish: llm.FinishStop, Usage: used, ID: "r"}},
		{"template that swallows the tag", `{"object":"chat.completion","choices":[{"message":{"content":"why</think>Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			"application/json", Config{Chat: true, Thinking: true}, responseSummary{Text: "Hi", Reasoning: "why", Finish: llm.FinishStop, Usage: used}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, p := serveCanned(t, tt.config, cannedAnswer{200, tt.ctype, tt.body})
			resp, err := llmtest.Generate(t, p.Model("m"), askRequest("123"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, summarizeResponse(t, resp)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Reasoning may precede JSON, in which the tags are text.
func TestThinkTagsBeforeJSON(t *testing.T) {
	_, p := serveCanned(t, Config{Chat: true}, streamAnswer(sayChunk("<think>x</think>")+sayChunk(`{"a":"</think>\n"}`)+finish+done))
	req := askRequest("x")
	req.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{}}`)}
	resp, err := llmtest.Generate(t, p.Model("m"), req)
	if err != nil || resp.Message.Text() != `{"a":"</think>\n"}` {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// Calls without a unique ID get one.
func TestCallIDs(t *testing.T) {
	_, p := serveCanned(t, Config{Chat: true}, streamAnswer(callChunk(`{"index":0,"function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"f"}},{"index":2,"id":"a","function":{"name":"f"}}`)+finish+done))
	resp, err := llmtest.Generate(t, p.Model("m"), askRequest("x"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range resp.Message.Calls() {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("id %q is missing or repeated", c.ID)
		}
		seen[c.ID] = true
	}
	if len(seen) != 3 {
		t.Errorf("got %d calls, want 3", len(seen))
	}
}

func TestBrokenAnswers(t *testing.T) {
	tests := []struct {
		name  string
		chat  string
		resp  string
		class llm.Class
		text  string
	}{
		{"nothing", " ", " ", llm.Truncated, "openai/m: the stream ended before the answer was complete"},
		{"cut off", sayChunk("Hi"), event1("response.output_text.delta", `,"delta":"Hi"`), llm.Truncated, "openai/m: the stream ended before the answer was complete"},
		{"still under way", "", event1("response.in_progress", `,"response":{"status":"in_progress"}`) + "data: [DONE]\n\n", llm.Truncated, "openai/m: the stream ended before the answer was complete"},
		{"not JSON", "data: {\"choices\":oops}\n\n", "data: oops\n\n", llm.Malformed, ""},
		{"cut in mid-chunk", "data: {\"choices\":[{\"del", "data: {\"type\":\"resp", llm.Truncated, ""},
		{"a call without a name", callChunk(`{"index":0,"id":"a","function":{"arguments":"{}"}}`) + finish, event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"a","arguments":"{}"}`) + event1("response.completed", completed), llm.Malformed, "openai/m: the answer has a call without a name"},
		{"openai", sayChunk("Hi") + `data: {"error":{"message":"The server had an error","type":"server_error"}}` + "\n\n",
			event1("error", `,"code":"server_error","message":"The server had an error","param":null`), llm.Transient, "openai/m: The server had an error"},
		{"failed", "", event1("response.failed", `,"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down. Please try again in 3s."}}`), llm.RateLimited, "openai/m: Slow down. Please try again in 3s."},
		{"failed without a reason", "", event1("response.failed", `,"response":{"status":"failed","error":null}`), llm.Transient, "openai/m: the provider broke off the answer: failed"},
		{"whole and failed", "", `{"object":"response","status":"failed","error":{"code":"server_error","message":"boom"},"output":[]}`, llm.Transient, "openai/m: boom"},
		{"openrouter", sayChunk("Hi") + `data: {"id":"x","error":{"code":502,"message":"Upstream failed"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n", "", llm.Transient, "openai/m: Upstream failed (502)"},
		{"openrouter, within the choice", sayChunk("Hi") + `data: {"id":"x","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"Upstream failed"}}]}` + "\n\n", "", llm.Transient, "openai/m: Upstream failed (502)"},
		{"finish reason error", sayChunk("Hi") + `data: {"choices":[{"delta":{},"finish_reason":"error"}]}` + "\n\n" + done, "", llm.Transient, "openai/m: the provider broke off the answer: error"},
		{"vllm", `data: {"object":"error","message":"maximum context length is 10","type":"BadRequestError","code":400}` + "\n\n", "", llm.TooLong, "openai/m: maximum context length is 10 (400): give it less to read, or use a model with a larger context"},
		{"gpustack", `error: {"message":"boom"}` + "\n\n", "", llm.Transient, "openai/m: boom"},
		{"azure filter", `{"error":{"message":"filtered","code":"content_filter","status":400}}`, "", llm.Filtered, "openai/m: filtered (400): rephrase the question, or use another model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for dialect, body := range map[string]string{"chat": tt.chat, "responses": tt.resp} {
				if body == "" {
					continue
				}
				a := streamAnswer(body)
				if strings.HasPrefix(body, "{") {
					a.ctype = "application/json"
				}
				_, p := serveCanned(t, Config{Chat: dialect == "chat"}, a)
				_, err := llmtest.Generate(t, p.Model("m"), askRequest("123"))
				if err == nil {
					t.Errorf("%s: no error", dialect)
					continue
				}
				if llm.ClassOf(err) != tt.class || tt.text != "" && err.Error() != tt.text {
					t.Errorf("%s: got %s %q, want %s %q", dialect, llm.ClassOf(err), err, tt.class, tt.text)
				}
			}
		})
	}
}

// A prefix without terminal event is Truncated.
func TestCutAnywhere(t *testing.T) {
	chat := sayChunk("Hi") + callChunk(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`) + finish + counted + done
	resp := event1("response.created", `,"response":{"id":"r","status":"in_progress","error":null}`) + event1("response.output_text.delta", `,"delta":"Hi"`) +
		event1("response.output_item.done", `,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}`) + event1("response.completed", completed)
	for name, body := range map[string]string{"chat": chat, "responses": resp} {
		signal := strings.Index(body, `"finish_reason":"stop"}]}`) + len(`"finish_reason":"stop"}]}`)
		if name == "responses" {
			signal = len(body) - 2
		}
		for n := range len(body) {
			_, p := serveCanned(t, Config{Chat: name == "chat"}, streamAnswer(body[:n]))
			got, err := llmtest.Generate(t, p.Model("m"), askRequest("123"))
			switch {
			case n < signal && (got != nil || llm.ClassOf(err) != llm.Truncated):
				t.Errorf("%s cut at %d of %d: got %+v, %v", name, n, len(body), got, err)
			case n >= signal && (err != nil || got.Message.Text() != "Hi"):
				t.Errorf("%s cut at %d of %d: got %+v, %v", name, n, len(body), got, err)
			}
		}
	}
}
