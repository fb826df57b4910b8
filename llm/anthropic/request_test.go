package anthropic

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

func requestBody(t *testing.T, id string, req *llm.Request, fields ...string) string {
	t.Helper()
	m := New(Config{}).Model(id).(*model)
	p, err := m.newPlan(req, false)
	if err != nil {
		t.Fatal(err)
	}
	data, err := wire.Body(p.body)
	if err != nil {
		t.Fatal(err)
	}
	all, err := wire.ParseObject(data)
	if err != nil {
		t.Fatal(err)
	}
	var some wire.Object
	for _, f := range fields {
		if v := all.Value(f); v != nil {
			some.Set(f, v)
		}
	}
	return string(encodeJSON(t, some))
}

func TestThinking(t *testing.T) {
	for _, test := range []struct {
		name, id string
		req      llm.Request
		want     string
	}{
		{"none known", "claude-3-5-haiku-latest", llm.Request{Effort: "high"}, `{"max_tokens":8192}`},
		{"budget", "claude-sonnet-4-5", llm.Request{Effort: "high"}, `{"max_tokens":56000,"thinking":{"type":"enabled","budget_tokens":24000}}`},
		{"budget in a short answer", "claude-sonnet-4-5", llm.Request{Effort: "high", MaxTokens: 4096}, `{"max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":3072}}`},
		{"too short to think", "claude-sonnet-4-5", llm.Request{Effort: "high", MaxTokens: 1200}, `{"max_tokens":1200}`},
		{"budget not asked for", "claude-sonnet-4-5", llm.Request{}, `{"max_tokens":32000}`},
		{"budget refused", "claude-sonnet-4-5", llm.Request{Effort: "none"}, `{"max_tokens":32000}`},
		{"budget and effort", "claude-opus-4-5-20251101", llm.Request{Effort: "minimal"}, `{"max_tokens":33024,"thinking":{"type":"enabled","budget_tokens":1024},"output_config":{"effort":"low"}}`},
		{"adaptive", "claude-opus-4-6", llm.Request{Effort: "medium"}, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}}`},
		{"adaptive not asked for", "claude-opus-4-7", llm.Request{}, `{"max_tokens":32000}`},
		{"on by default", "claude-opus-5", llm.Request{}, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"}}`},
		{"on by default, off", "claude-opus-5", llm.Request{Effort: "none"}, `{"max_tokens":32000,"thinking":{"type":"disabled"}}`},
		{"never off", "claude-opus-5-5", llm.Request{Effort: "none"}, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"between tools", "claude-sonnet-5-5", llm.Request{Effort: "none"}, `{"max_tokens":32000,"thinking":{"type":"between_tools"}}`},
		{"not known yet", "claude-saga-7", llm.Request{Effort: "low"}, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
		{"another maker's", "glm-4.7", llm.Request{Effort: "low", MaxTokens: 8000}, `{"max_tokens":8000,"thinking":{"type":"enabled","budget_tokens":4000}}`},
		{"longer than there is", "claude-opus-4-1", llm.Request{Effort: "high", MaxTokens: 1 << 20}, `{"max_tokens":32000,"thinking":{"type":"enabled","budget_tokens":24000}}`},
		{"another maker's, length open", "glm-4.7", llm.Request{Effort: "low"}, `{"max_tokens":12192,"thinking":{"type":"enabled","budget_tokens":4000}}`},
		{"long for who knows whom", "glm-4.7", llm.Request{MaxTokens: 200000}, `{"max_tokens":200000}`},
		{"with a prefix", "us.anthropic.claude-opus-4-6-v1", llm.Request{Effort: "low"}, `{"max_tokens":32000,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := requestBody(t, test.id, &test.req, "max_tokens", "thinking", "output_config")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestTemperature(t *testing.T) {
	warm := 0.5
	for _, test := range []struct {
		name, id, effort string
		want             string
	}{
		{"sampling", "claude-sonnet-4-5", "", `{"temperature":0.5}`},
		{"while thinking", "claude-sonnet-4-5", "low", `{}`},
		{"no sampling", "claude-opus-4-7", "", `{}`},
		{"off", "claude-opus-5", "none", `{}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := requestBody(t, test.id, &llm.Request{Temperature: &warm, Effort: test.effort}, "temperature")
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestToolsAndSchemas(t *testing.T) {
	schema := &llm.Schema{Name: "my answer!", JSON: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer","minimum":1},"a":{"type":"string"}},"required":["b"]}`)}
	list := &llm.Schema{Name: "list", JSON: json.RawMessage(`{"type":"array"}`)}
	add := []llm.Tool{{Name: "add", Doc: "adds"}}
	const (
		addTool = `{"name":"add","description":"adds","input_schema":{"type":"object"}}`
		asTool  = `{"name":"my_answer_","description":"Give the answer.","input_schema":` +
			`{"type":"object","properties":{"b":{"type":"integer","minimum":1},"a":{"type":"string"}},"required":["b"]}}`
		format = `"format":{"type":"json_schema","schema":{"type":"object",` +
			`"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["b"],"additionalProperties":false}}`
		words = `Answer with one JSON value that is valid under the JSON schema below, and with nothing else: no words around it, no code fence.\n\n`
	)
	for _, test := range []struct {
		name, id string
		req      llm.Request
		want     string
	}{
		{"a choice", "claude-sonnet-4-5", llm.Request{Tools: add, ToolChoice: "auto"}, `{"tools":[` + addTool + `],"tool_choice":{"type":"auto"}}`},
		{"no choice said", "claude-sonnet-4-5", llm.Request{Tools: add}, `{"tools":[` + addTool + `]}`},
		{"none", "claude-sonnet-4-5", llm.Request{Tools: add, ToolChoice: "none"}, `{"tools":[` + addTool + `],"tool_choice":{"type":"none"}}`},
		{"required", "claude-sonnet-4-5", llm.Request{Tools: add, ToolChoice: "required", Effort: "high"}, `{"tools":[` + addTool + `],"tool_choice":{"type":"any"}}`},
		{"by name", "claude-opus-5", llm.Request{Tools: add, ToolChoice: "add"}, `{"tools":[` + addTool + `],"tool_choice":{"type":"tool","name":"add"},"thinking":{"type":"disabled"}}`},
		{"by name where it cannot be forced", "claude-opus-5-5", llm.Request{Tools: add, ToolChoice: "add"},
			`{"system":[{"type":"text","text":"Answer by calling the tool \"add\"."}],"tools":[` + addTool + `],"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive","display":"summarized"}}`},
		{"choice without tools", "claude-sonnet-4-5", llm.Request{ToolChoice: "auto"}, `{}`},
		{"native schema", "claude-sonnet-4-5", llm.Request{Schema: schema}, `{"output_config":{` + format + `}}`},
		{"native schema with effort", "claude-opus-4-6", llm.Request{Schema: schema, Effort: "low"},
			`{"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low",` + format + `}}`},
		{"schema as a tool", "claude-sonnet-4-20250514", llm.Request{Schema: schema}, `{"tools":[` + asTool + `],"tool_choice":{"type":"tool","name":"my_answer_"}}`},
		{"schema beside tools", "claude-sonnet-4-20250514", llm.Request{Schema: schema, Tools: add},
			`{"tools":[` + addTool + `,` + `{"name":"my_answer_","description":"Give the answer, once no other tool is needed.","input_schema":` + string(schema.JSON) + `}],"tool_choice":{"type":"any"}}`},
		{"schema in words", "claude-sonnet-4-20250514", llm.Request{System: "Be good.", Schema: list},
			`{"system":[{"type":"text","text":"Be good."},{"type":"text","text":"` + words + `{\"type\":\"array\"}"}]}`},
		{"schema while thinking by budget", "claude-sonnet-4-20250514", llm.Request{Schema: list, Effort: "minimal"},
			`{"system":[{"type":"text","text":"` + words + `{\"type\":\"array\"}"}],"thinking":{"type":"enabled","budget_tokens":1024}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := requestBody(t, test.id, &test.req, "system", "tools", "tool_choice", "thinking", "output_config")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestStrictSchema(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"order is kept", `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"additionalProperties":false}`},
		{"nested", `{"type":"array","items":{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"number"}}},"additionalProperties":{"not":{}}}}`,
			`{"type":"array","items":{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"number"}}},"additionalProperties":false}}`},
		{"alternatives", `{"oneOf":[{"type":"string","pattern":"x"},{"const":3}]}`, `{"anyOf":[{"type":"string"},{"const":3}]}`},
		{"definitions", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":["a"]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":["a"]}},"additionalProperties":false}`},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		{"any object", `{"type":"object"}`, ""},
		{"itself", `{"type":"object","properties":{"a":{"$ref":"#"}}}`, ""},
		{"itself by definition", `{"$defs":{"x":{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}},"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`, ""},
		{"conditions", `{"type":"object","properties":{},"if":{}}`, ""},
		{"no schema", `true`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, ok := strictSchema(json.RawMessage(test.in))
			if ok != (test.want != "") || ok && string(out) != test.want {
				t.Errorf("got  %s, %v\nwant %s", out, ok, test.want)
			}
		})
	}
}

func TestConversation(t *testing.T) {
	other := &llm.Opaque{Model: "anthropic/claude-opus-4-6", Data: json.RawMessage(`{"type":"thinking","signature":"s"}`)}
	own := &llm.Opaque{Model: "anthropic/claude-sonnet-4-5", Data: json.RawMessage(`{"type":"thinking","signature":"s"}`)}
	call := llm.Part{Call: &llm.ToolCall{ID: "functions.add:0", Name: "add", Input: json.RawMessage(`"2+3"`)}}
	result := llm.Part{Result: &llm.ToolResult{ID: "functions.add:0", Name: "add", Text: "5"}}
	for _, test := range []struct {
		name  string
		parts []llm.Part
		want  string
	}{
		{"own thoughts", []llm.Part{{Reasoning: "hm", Opaque: own}}, `[{"type":"thinking","thinking":"hm","signature":"s"}]`},
		{"own hidden thoughts", []llm.Part{{Opaque: own}}, `[{"type":"thinking","thinking":"","signature":"s"}]`},
		{"thoughts of another model", []llm.Part{{Reasoning: "hm", Opaque: other}, {Text: "so", Opaque: other}}, `[{"type":"text","text":"so"}]`},
		{"thoughts without a signature", []llm.Part{{Reasoning: "hm"}, {Text: "so"}}, `[{"type":"text","text":"so"}]`},
		{"nothing", []llm.Part{{Text: ""}, {Text: " \n"}, {Reasoning: "hm"}}, ``},
		{"a foreign id and input", []llm.Part{call}, `[{"type":"tool_use","id":"functions_add_0","name":"add","input":{"input":"2+3"}}]`},
		{"results first", []llm.Part{{Text: "look"}, result}, `[{"type":"tool_result","tool_use_id":"functions_add_0","content":[{"type":"text","text":"5"}]},{"type":"text","text":"look"}]`},
		{"a failed result", []llm.Part{{Result: &llm.ToolResult{ID: "a", Failed: true}}}, `[{"type":"tool_result","tool_use_id":"a","is_error":true}]`},
		{"a PDF", []llm.Part{{Media: &llm.Media{Type: "application/pdf", Data: []byte("x"), Name: "a.pdf"}}},
			`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"eA=="},"title":"a.pdf"}]`},
		{"an image elsewhere", []llm.Part{{Media: &llm.Media{Type: "image/png", URL: "https://x/y.png"}}}, `[{"type":"image","source":{"type":"url","url":"https://x/y.png"}}]`},
		{"a text file", []llm.Part{{Media: &llm.Media{Type: "text/markdown", Data: []byte("# x\xff")}}},
			`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"# x` + "\uFFFD" + `"}}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := conversation{model: "anthropic/claude-sonnet-4-5"}
			got, err := c.writeMessages([]llm.Message{{Role: llm.User, Parts: test.parts}})
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if len(got) > 0 {
				text = string(encodeJSON(t, got[0].Content))
			}
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSoundIsRefused(t *testing.T) {
	c := conversation{}
	_, err := c.writeMessages([]llm.Message{{Role: llm.User, Parts: []llm.Part{{Media: &llm.Media{Type: "audio/mp3"}}}}})
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.BadRequest {
		t.Errorf("error %v", err)
	}
}

func TestNoThoughtsInALoopBegunWithout(t *testing.T) {
	req := &llm.Request{Effort: "low", Messages: []llm.Message{
		llm.Say(llm.User, "add"),
		{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "a", Name: "add"}}}},
		{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "a", Name: "add", Text: "5"}}}},
	}}
	if got := requestBody(t, "claude-sonnet-4-5", req, "thinking"); got != "{}" {
		t.Errorf("got %s", got)
	}
	req.Messages[1].Parts[0].Opaque = nil
	req.Messages[1].Parts = append([]llm.Part{{Reasoning: "hm", Opaque: &llm.Opaque{Model: "anthropic/claude-sonnet-4-5", Data: json.RawMessage(`{"type":"thinking","signature":"s"}`)}}}, req.Messages[1].Parts...)
	if got, want := requestBody(t, "claude-sonnet-4-5", req, "thinking"), `{"thinking":{"type":"enabled","budget_tokens":4000}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCacheMarks(t *testing.T) {
	req := &llm.Request{System: "s", Cache: true, Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}, Messages: []llm.Message{
		llm.Say(llm.User, "1"), llm.Say(llm.Assistant, "2"), llm.Say(llm.User, "3"),
	}}
	const cached = `,"cache_control":{"type":"ephemeral"}}`
	want := `{"system":[{"type":"text","text":"s"` + cached + `],` +
		`"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"}` + cached + `],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"1"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"2"` + cached + `]},{"role":"user","content":[{"type":"text","text":"3"` + cached + `]}]}`
	if got := requestBody(t, "claude-sonnet-4-5", req, "system", "tools", "messages"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
