package ollama

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

var (
	plain   = facts{capabilities: []string{"completion", "tools"}, context: 131072}
	thinker = facts{capabilities: []string{"completion", "thinking"}, context: 40960}
)

func requestBody(t *testing.T, id string, f facts, req *llm.Request, fields ...string) string {
	t.Helper()
	m := New(Config{KeepAlive: "30m"}).Model(id).(*model)
	p, err := m.newRequest(req, f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := wire.Body(p)
	if err != nil {
		t.Fatal(err)
	}
	all, err := wire.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	var some wire.Object
	for _, field := range fields {
		if v := all.Value(field); v != nil {
			some.Set(field, v)
		}
	}
	text, err := some.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRequests(t *testing.T) {
	cool := 0.1
	add := []llm.Tool{{Name: "add", Doc: "adds", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}}
	const (
		addTool = `{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object"}}}`
		nowTool = `{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}`
	)
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object"}`)}
	for _, test := range []struct {
		name   string
		facts  facts
		req    llm.Request
		fields string
		want   string
	}{
		{"the usual", plain, llm.Request{}, "model stream truncate shift keep_alive options",
			`{"model":"m","stream":true,"truncate":false,"shift":false,"keep_alive":"30m","options":{"num_ctx":8192}}`},
		{"options", plain, llm.Request{MaxTokens: 100, Temperature: &cool}, "options", `{"options":{"num_ctx":8192,"num_predict":100,"temperature":0.1}}`},
		{"system", plain, llm.Request{System: "Be good.", Messages: []llm.Message{llm.Say(llm.User, "hi")}}, "messages",
			`{"messages":[{"role":"system","content":"Be good."},{"role":"user","content":"hi"}]}`},
		{"tools", plain, llm.Request{Tools: add}, "tools messages", `{"tools":[` + addTool + `,` + nowTool + `],"messages":null}`},
		{"no tools", plain, llm.Request{Tools: add, ToolChoice: "none"}, "tools", `{}`},
		{"one tool", plain, llm.Request{Tools: add, ToolChoice: "now"}, "tools messages", `{"tools":[` + nowTool + `],"messages":[{"role":"system","content":"Answer by calling a tool."}]}`},
		{"schema", plain, llm.Request{Schema: schema}, "format messages", `{"format":{"type":"object"},"messages":null}`},
		{"schema beside tools", plain, llm.Request{Schema: schema, Tools: add}, "format messages",
			`{"messages":[{"role":"system","content":"Answer with one JSON value that is valid under the JSON schema below, and with nothing else: no words around it, no code fence.\n\n{\"type\":\"object\"}"}]}`},
		{"effort without thinking", plain, llm.Request{Effort: "high"}, "think", `{}`},
		{"effort", thinker, llm.Request{Effort: "high"}, "think", `{"think":true}`},
		{"no effort", thinker, llm.Request{Effort: "none"}, "think", `{"think":false}`},
		{"no effort said", thinker, llm.Request{}, "think", `{}`},
		{"levels by family", facts{capabilities: []string{"thinking"}, family: "gptoss"}, llm.Request{Effort: "minimal"}, "think", `{"think":"low"}`},
		{"levels", facts{thinking: []any{"low", "medium", "high"}}, llm.Request{Effort: "medium"}, "think", `{"think":"medium"}`},
		{"few levels", facts{thinking: []any{false, "low", "max"}}, llm.Request{Effort: "high"}, "think", `{"think":"max"}`},
		{"a lower level", facts{thinking: []any{"low"}}, llm.Request{Effort: "high"}, "think", `{"think":"low"}`},
		{"off among levels", facts{thinking: []any{false, "low"}}, llm.Request{Effort: "none"}, "think", `{"think":false}`},
		{"no off", facts{thinking: []any{"low", "high"}}, llm.Request{Effort: "none"}, "think", `{"think":"low"}`},
		{"only on", facts{thinking: []any{true}}, llm.Request{Effort: "none"}, "think", `{}`},
		{"only off", facts{capabilities: []string{"completion"}, thinking: []any{false}}, llm.Request{Effort: "high"}, "think", `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := requestBody(t, "m", test.facts, &test.req, strings.Fields(test.fields)...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if got := requestBody(t, "big:480b-cloud", facts{}, helloRequest(), "options"); got != `{"options":{}}` {
		t.Errorf("a model elsewhere: %s", got)
	}
}

func TestConversation(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{
		llm.Say(llm.User, "old"),
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: "forgotten"}, {Text: "yes"}}},
		{Role: llm.User, Parts: []llm.Part{{Text: "look"}, {Media: &llm.Media{Type: "image/png", Data: []byte("x")}}, {Media: &llm.Media{Type: "text/plain", Name: "a.txt", Data: []byte("hi")}}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: "hm"}, {Opaque: &llm.Opaque{Model: "ollama/m", Data: json.RawMessage(`1`)}}, {Call: &llm.ToolCall{ID: "c", Name: "add", Input: json.RawMessage(`{"a":1}`)}}}},
		{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c", Name: "add", Text: "no", Failed: true}}, {Result: &llm.ToolResult{ID: "d", Name: "see", Media: &llm.Media{Type: "image/png", Data: []byte("y")}}}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Text: ""}}},
	}}
	want := `{"messages":[{"role":"user","content":"old"},` +
		`{"role":"assistant","content":"yes"},` +
		`{"role":"user","content":"look\n\na.txt\n\nhi","images":["eA=="]},` +
		`{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"c","function":{"name":"add","arguments":{"a":1}}}]},` +
		`{"role":"tool","content":"Error: no","tool_name":"add","tool_call_id":"c"},` +
		`{"role":"tool","content":"","images":["eQ=="],"tool_name":"see","tool_call_id":"d"}]}`
	if got := requestBody(t, "m", plain, req, "messages"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, m := range []llm.Media{{Type: "image/png", URL: "https://x"}, {Type: "application/pdf"}} {
		_, err := toMessages(llm.Message{Parts: []llm.Part{{Media: &m}}}, false)
		if c := llm.ClassOf(err); c != llm.BadRequest {
			t.Errorf("%s: class %s: %v", m.Type, c, err)
		}
		_, err = toMessages(llm.Message{Parts: []llm.Part{{Result: &llm.ToolResult{Media: &m}}}}, false)
		if c := llm.ClassOf(err); c != llm.BadRequest {
			t.Errorf("%s in a result: class %s: %v", m.Type, c, err)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, test := range []struct {
		name    string
		facts   facts
		bytes   int
		maxSize int
		want    int
	}{
		{"short", plain, 100, 0, 8192},
		{"longer", plain, 20000, 0, 16384},
		{"long answer", plain, 100, 9000, 16384},
		{"endless answer", plain, 100, 1 << 30, 32768},
		{"all there is", thinker, 200000, 0, 40960},
		{"a small model", facts{context: 2048}, 100, 0, 2048},
		{"nothing known", facts{}, 1 << 20, 0, 32768},
		{"its maker's", facts{context: 131072, defaultContext: 65536}, 100, 0, 65536},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := &llm.Request{System: strings.Repeat("x", test.bytes), MaxTokens: test.maxSize}
			if got := test.facts.contextSize(req); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
	p := New(Config{Context: 12345})
	plan, err := p.Model("m").(*model).newRequest(helloRequest(), plain)
	if err != nil || plan.Options.NumCtx != 12345 {
		t.Errorf("a context that was set: %v, %v", plan, err)
	}
}
