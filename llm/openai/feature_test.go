package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// A refused feature is omitted now and later.
func TestSecondRequest(t *testing.T) {
	warm := 0.5
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	sized := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":10}},"required":["a"]}`)}
	minLength := []any{"response_format", "json_schema", "schema", "properties", "a", "minLength"}
	signed := thinkingRequest("openai/m", "reasoning")
	tests := []struct {
		name      string
		responses bool
		host      string
		req       llm.Request
		refusal   string
		path      []any  // into the request
		before    string // value before the refusal
		after     string
		forgotten bool // by the next request
	}{
		{"schema", false, "localhost", llm.Request{Schema: schema}, "'response_format' of type 'json_schema' is not supported", []any{"response_format", "type"}, `"json_schema"`, `null`, false},
		{"schema, next the tool", false, "localhost", llm.Request{Schema: schema}, "This model does not support response format `json_schema`", []any{"tool_choice", "function", "name"}, `null`, `"s"`, false},
		{"tool", false, "api.z.ai", llm.Request{Schema: schema}, "tool_choice only supports auto", []any{"response_format", "type"}, `null`, `"json_object"`, false},
		{"mode", false, "api.deepseek.com", llm.Request{Schema: schema}, "response_format is unavailable now", []any{"response_format", "type"}, `"json_object"`, `null`, false},
		{"schema of Responses", true, "localhost", llm.Request{Schema: schema}, "Invalid parameter: 'text.format' json_schema is not supported", []any{"text", "format", "type"}, `"json_schema"`, `null`, false},
		{"lengths", false, "localhost", llm.Request{Schema: sized}, "Invalid schema for response_format 's': 'minLength' is not permitted.", minLength, `10`, `null`, false},
		{"lengths for a grammar", false, "10.0.0.7", llm.Request{Schema: sized}, "The provided JSON schema contains features not supported by xgrammar.", minLength, `10`, `null`, false},
		{"the schema stays without lengths", false, "localhost", llm.Request{Schema: sized}, "failed to parse grammar", []any{"response_format", "type"}, `"json_schema"`, `"json_schema"`, false},
		{"temperature", false, "localhost", llm.Request{Temperature: &warm}, "Unsupported value: 'temperature' does not support 0.5 with this model.", []any{"temperature"}, `0.5`, `null`, false},
		{"penalty", false, "localhost", llm.Request{Penalty: 1}, "frequency_penalty: extra fields not permitted", []any{"frequency_penalty"}, `1`, `null`, false},
		{"effort", false, "localhost", llm.Request{Effort: "high"}, "Unrecognized request argument supplied: reasoning_effort", []any{"reasoning_effort"}, `"high"`, `null`, false},
		{"effort at xai", false, "api.x.ai", llm.Request{Effort: "high"}, "Argument not supported on this model: reasoningEffort", []any{"reasoning_effort"}, `"high"`, `null`, false},
		{"bound", false, "localhost", llm.Request{MaxTokens: 9}, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", []any{"max_completion_tokens"}, `null`, `9`, false},
		{"bound, the other way", false, "api.openai.com", llm.Request{MaxTokens: 9}, "Unknown parameter: 'max_completion_tokens'", []any{"max_tokens"}, `null`, `9`, false},
		{"stream options", false, "localhost", llm.Request{}, "stream_options: extra fields not permitted", []any{"stream_options"}, `{"include_usage":true}`, `null`, false},
		{"summary", true, "api.openai.com", llm.Request{Effort: "high"}, "Your organization must be verified to generate reasoning summaries.", []any{"reasoning", "summary"}, `"auto"`, `null`, false},
		{"encrypted reasoning", true, "api.openai.com", llm.Request{}, "Encrypted content is not supported with this model.", []any{"include", 0}, `"reasoning.encrypted_content"`, `null`, false},
		{"signature", false, "openrouter.ai", *signed, "messages.3.content.0: Invalid `signature` in `thinking` block", []any{"messages", 3, "reasoning_details", 0, "type"}, `"x"`, `null`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			good := streamAnswer(finish)
			if tt.responses {
				good = streamAnswer(event1("response.completed", completed))
			}
			server, p := serveCanned(t, Config{BaseURL: "https://" + tt.host, Chat: !tt.responses, Responses: tt.responses}, refuseAnswer(400, tt.refusal), good)
			m := p.Model("m")
			if tt.host == "api.openai.com" {
				m = p.Model("gpt-5")
			}
			if tt.req.Messages == nil {
				tt.req.Messages = askRequest("x").Messages
			}
			for range 2 {
				if _, err := llmtest.Generate(t, m, &tt.req); err != nil {
					t.Fatal(err)
				}
			}
			if len(server.asked) != 3 {
				t.Fatalf("%d requests were sent, want 2 and then 1", len(server.asked))
			}
			wants := []string{tt.before, tt.after, tt.after}
			if tt.forgotten {
				wants[2] = tt.before
			}
			for i, want := range wants {
				if got := string(rawJSON(valueAt(server.asked[i], tt.path...))); got != want {
					t.Errorf("request %d has %s, want %s", i, got, want)
				}
			}
		})
	}
}

// Hosts that may refuse bounds of lengths never get them.
func TestLengths(t *testing.T) {
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","minLength":10,"maxLength":99}},"required":["a"]}`)}
	for host, want := range map[string]string{
		"http://127.0.0.1:8080": `{"maxLength":99,"minLength":10,"type":"string"}`, "https://gpu.example.org": `{"maxLength":99,"minLength":10,"type":"string"}`,
		"https://api.openai.com": `{"type":"string"}`, "https://openrouter.ai": `{"type":"string"}`, "https://api.groq.com": `{"type":"string"}`,
	} {
		server, p := serveCanned(t, Config{BaseURL: host, Chat: true}, streamAnswer(finish))
		req := askRequest("x")
		req.Schema = schema
		if _, err := llmtest.Generate(t, p.Model("m"), req); err != nil {
			t.Fatal(err)
		}
		if got := string(rawJSON(valueAt(server.asked[0], "response_format", "json_schema", "schema", "properties", "a"))); got != want {
			t.Errorf("%s gets %s, want %s", host, got, want)
		}
	}
}

// An invalid schema is not remembered, and tools matter.
func TestRefusedSchema(t *testing.T) {
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	tools := []llm.Tool{{Name: "f"}}
	tests := []struct {
		name    string
		refusal string
		tools   [3][]llm.Tool
		want    string // of four requests
	}{
		{"the schema's fault", "Invalid schema for response_format 's': too deep", [3][]llm.Tool{}, "json_schema none json_schema json_schema"},
		{"with tools only", "response format `json_schema` cannot be combined with tools", [3][]llm.Tool{tools, nil, tools}, "json_schema json_object json_schema json_object"},
		{"all formats, with tools", "json mode cannot be combined with tool/function calling", [3][]llm.Tool{tools, nil, tools}, "json_schema none json_schema none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "http://localhost"}, refuseAnswer(400, tt.refusal), streamAnswer(finish))
			for _, with := range tt.tools {
				req := askRequest("x")
				req.Schema, req.Tools = schema, with
				if _, err := llmtest.Generate(t, p.Model("m"), req); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, asked := range server.asked {
				kind := stringAt(asked, "response_format", "type")
				if kind == "" {
					kind = "none"
				}
				got = append(got, kind)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("asked for %v, want %s", got, tt.want)
			}
		})
	}
}

// Without any tier the prompt is used at once.
func TestTiers(t *testing.T) {
	server, p := serveCanned(t, Config{BaseURL: "https://openrouter.ai"},
		refuseAnswer(400, "This model does not support response format `json_schema`"), refuseAnswer(400, "tool_choice only supports auto"),
		refuseAnswer(400, "json mode is not supported"), streamAnswer(finish))
	req := askRequest("x")
	req.Schema = &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	for range 2 {
		if _, err := llmtest.Generate(t, p.Model("m"), req); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, asked := range server.asked {
		kind := stringAt(asked, "response_format", "type")
		if valueAt(asked, "tool_choice", "function") != nil {
			kind = "tool"
		}
		got = append(got, kind)
	}
	if want := "json_schema tool json_object  "; strings.Join(got, " ") != want {
		t.Errorf("asked for %q, want %q", got, want)
	}
}

// Requests omit features that the list denies.
func TestListed(t *testing.T) {
	list := cannedAnswer{200, "application/json", `{"data":[
		{"id":"a/all","supported_parameters":["structured_outputs","response_format","tools","tool_choice","reasoning","temperature","frequency_penalty"]},
		{"id":"a/tools","supported_parameters":["response_format","tools","tool_choice","reasoning"]},
		{"id":"a/mode","supported_parameters":["response_format","tools","temperature"]},
		{"id":"a/mode:free","supported_parameters":["temperature"]},
		{"id":"a/silent"}]}`}
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)}
	for _, tt := range []struct{ id, want string }{
		{"a/all", "json_schema with temperature and effort"},
		{"a/tools", "tool with effort"},
		{"a/tools:nitro", "tool with effort"},
		{"a/mode", "json_object with temperature"},
		{"a/mode:free", "words with temperature"},
		{"a/silent", "json_schema with temperature and effort"},
		{"a/unlisted", "json_schema with temperature and effort"},
	} {
		server, p := serveCanned(t, Config{BaseURL: "https://openrouter.ai"}, list, cannedAnswer{200, "application/json", "{}"}, streamAnswer(finish))
		_ = p.Check(t.Context(), "a/all")
		req := askRequest("x")
		req.Schema, req.Temperature, req.Effort, req.Penalty = schema, new(float64), "low", 1
		if _, err := llmtest.Generate(t, p.Model(tt.id), req); err != nil {
			t.Fatal(err)
		}
		asked := server.asked[len(server.asked)-1]
		got := stringAt(asked, "response_format", "type")
		if valueAt(asked, "tool_choice", "function") != nil {
			got = "tool"
		}
		got = cmp.Or(got, "words")
		var with []string
		for name, field := range map[string]string{"temperature": "temperature", "effort": "reasoning"} {
			if valueAt(asked, field) != nil {
				with = append(with, name)
			}
		}
		slices.Sort(with)
		slices.Reverse(with)
		if listed := tt.id == "a/all" || tt.id == "a/silent" || tt.id == "a/unlisted"; listed != (valueAt(asked, "frequency_penalty") != nil) {
			t.Errorf("%s: a penalty was sent: %v", tt.id, !listed)
		}
		if got += " with " + strings.Join(with, " and "); got != tt.want {
			t.Errorf("%s: asked for %s, want %s", tt.id, got, tt.want)
		}
	}
}

func TestTooLarge(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	var call callPiece
	call.Function.Name = long
	for name, piece := range map[string]messageDelta{
		"details":        {Details: []json.RawMessage{[]byte(`{"type":"reasoning.encrypted","data":"` + long + `"}`)}},
		"names of calls": {Calls: []callPiece{call}},
	} {
		f, taken := new(chatFold), 0
		for ; taken < 2*maxAnswer && f.addDelta(&piece, new(llm.Delta)) == nil; taken += len(long) {
		}
		if taken > maxAnswer {
			t.Errorf("%s: %d MB are kept", name, taken>>20)
		}
	}
}

func TestNoSecondRequest(t *testing.T) {
	warm := 0.5
	with := llm.Request{Messages: askRequest("x").Messages, Temperature: &warm, MaxTokens: 9}
	tests := []struct {
		name    string
		req     llm.Request
		answers []cannedAnswer
		sent    int
		class   llm.Class
	}{
		{"names nothing", with, []cannedAnswer{refuseAnswer(400, "messages: roles must alternate")}, 1, llm.BadRequest},
		{"names what was not sent", *askRequest("x"), []cannedAnswer{refuseAnswer(400, "temperature is not supported")}, 1, llm.BadRequest},
		{"a bound that is too large", with, []cannedAnswer{refuseAnswer(400, "max_tokens is too large: 9. This model takes at most 8.")}, 1, llm.BadRequest},
		{"refused for what is gone", with, []cannedAnswer{refuseAnswer(400, "temperature is not supported"), refuseAnswer(400, "stream_options is not supported")}, 3, llm.BadRequest},
		{"another status", with, []cannedAnswer{refuseAnswer(500, "temperature is not supported")}, 1, llm.Transient},
		{"wrong key", with, []cannedAnswer{refuseAnswer(401, "temperature is not supported")}, 1, llm.Auth},
		{"after the stream began", with, []cannedAnswer{streamAnswer(sayChunk("Hi") + `data: {"error":{"message":"temperature is not supported","code":400}}` + "\n\n")}, 1, llm.BadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "http://localhost"}, tt.answers...)
			_, err := llmtest.Generate(t, p.Model("m"), &tt.req)
			if llm.ClassOf(err) != tt.class || len(server.asked) != tt.sent {
				t.Errorf("got %v after %d requests, want %s after %d", err, len(server.asked), tt.class, tt.sent)
			}
		})
	}
}

func TestForcedTool(t *testing.T) {
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}
	pieces := callChunk(`{"index":0,"id":"c","function":{"name":"s","arguments":"{\"a\""}}`) + callChunk(`{"index":0,"function":{"arguments":":\"b\"}"}}`) +
		`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n"
	item := event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"c","name":"s","arguments":"{\"a\":\"b\"}"}`) + event1("response.completed", completed)
	for dialect, body := range map[string]string{"chat": pieces, "responses": item} {
		_, p := serveCanned(t, Config{BaseURL: "https://api.z.ai", Responses: dialect == "responses"}, streamAnswer(body))
		req := askRequest("x")
		req.Schema = schema
		resp, err := llmtest.Generate(t, p.Model("m"), req)
		if err != nil {
			t.Fatalf("%s: %v", dialect, err)
		}
		if resp.Message.Text() != `{"a":"b"}` || resp.Message.Calls() != nil || resp.Finish != llm.FinishStop {
			t.Errorf("%s: got %+v", dialect, resp)
		}
	}
}

// The prompt has the schema if nothing else does.
func TestSchemaPrompt(t *testing.T) {
	list := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)}
	server, p := serveCanned(t, Config{}, streamAnswer(event1("response.completed", completed)))
	req := askRequest("x")
	req.Schema = list
	if _, err := llmtest.Generate(t, p.Model("gpt-5"), req); err != nil {
		t.Fatal(err)
	}
	if got := stringAt(server.asked[0], "input", 0, "content"); got == "" || server.asked[0]["text"] != nil {
		t.Errorf("OpenAI takes no lists as answers, but was asked %v", server.asked[0])
	}
}

func TestStrictSchema(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"closed already", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"required":["a"]}`},
		{"optional", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"enum":["x"]},"d":{"$ref":"#/$defs/e"}},"$defs":{"e":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["integer","null"]},"c":{"anyOf":[{"enum":["x"]},{"type":"null"}]},"d":{"anyOf":[{"$ref":"#/$defs/e"},{"type":"null"}]}},"$defs":{"e":{"type":"null"}},"additionalProperties":false,"required":["a","b","c","d"]}`},
		{"bounds", `{"type":"array","items":{"type":"string","minLength":1,"format":"uri","pattern":"a"},"maxItems":3}`, `{"type":"array","items":{"type":"string","pattern":"a"},"maxItems":3}`},
		{"alternatives", `{"oneOf":[{"type":"object","properties":{}},{"type":"null"}]}`, `{"anyOf":[{"type":"object","properties":{},"additionalProperties":false,"required":[]},{"type":"null"}]}`},
		{"false as a schema", `{"type":"object","properties":{},"additionalProperties":{"not":{}}}`, `{"type":"object","properties":{},"additionalProperties":false,"required":[]}`},
		{"required of nothing", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b","a"]}`, `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false,"required":["a"]}`},
		{"map", `{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{"unknown object", `{"type":"object"}`, ""},
		{"condition", `{"if":{}}`, ""},
		{"true as a schema", `{"type":"array","items":true}`, ""},
		{"not JSON", `{`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := strictSchema(json.RawMessage(tt.in), false)
			if kept, still := strictSchema(json.RawMessage(tt.in), true); still != ok || strings.Contains(string(kept), "minLength") != strings.Contains(tt.in, "minLength") {
				t.Errorf("with lengths: %s", kept)
			}
			if !ok {
				got = nil
			}
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
