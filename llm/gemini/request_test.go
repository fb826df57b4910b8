package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

func requestBody(t *testing.T, m *model, req *llm.Request, fields ...string) string {
	t.Helper()
	p, _, err := m.newRequest(req, 0)
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
	for _, f := range fields {
		if v := all.Value(f); v != nil {
			some.Set(f, v)
		}
	}
	return string(encodeJSON(t, some))
}

func newModel(id string) *model { return New(Config{}).Model(id).(*model) }

func TestThinking(t *testing.T) {
	budget := func(n, include string) string {
		return `{"generationConfig":{"thinkingConfig":{"includeThoughts":` + include + `,"thinkingBudget":` + n + `}}}`
	}
	level := func(l, include string) string {
		return `{"generationConfig":{"thinkingConfig":{"includeThoughts":` + include + `,"thinkingLevel":"` + l + `"}}}`
	}
	for _, test := range []struct{ id, effort, want string }{
		{"gemini-2.5-pro", "", `{}`},
		{"gemini-2.5-pro", "none", budget("128", "false")},
		{"gemini-2.5-pro", "minimal", budget("128", "true")},
		{"gemini-2.5-pro", "high", budget("32768", "true")},
		{"gemini-2.5-flash", "none", budget("0", "false")},
		{"gemini-2.5-flash", "medium", budget("8192", "true")},
		{"gemini-2.5-flash-lite", "minimal", budget("512", "true")},
		{"gemini-2.5-flash", "high", budget("24576", "true")},
		{"gemini-3-pro-preview", "none", level("LOW", "false")},
		{"gemini-3-pro-preview", "medium", level("HIGH", "true")},
		{"gemini-3.1-pro-preview", "medium", level("MEDIUM", "true")},
		{"gemini-3-flash-preview", "minimal", level("MINIMAL", "true")},
		{"gemini-flash-latest", "none", level("MINIMAL", "false")},
		{"gemini-4-argon", "high", level("HIGH", "true")},
		{"gemini-2.0-flash", "high", `{}`},
		{"gemma-3-27b-it", "high", `{}`},
	} {
		t.Run(test.id+" "+test.effort, func(t *testing.T) {
			if got := requestBody(t, newModel(test.id), &llm.Request{Effort: test.effort}, "generationConfig"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestToolsAndSchemas(t *testing.T) {
	add := []llm.Tool{{Name: "add", Doc: "adds", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":["integer","null"]}},"additionalProperties":false}`)}}
	now := []llm.Tool{{Name: "now", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}}
	schema := &llm.Schema{Name: "s", JSON: json.RawMessage(`{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"string"}}},"additionalProperties":{"not":{}}}`)}
	const (
		set    = `"tools":[{"functionDeclarations":[{"name":"add","description":"adds","parameters":{"type":"OBJECT","properties":{"a":{"nullable":true,"type":"INTEGER"}}}}]}]`
		json1  = `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"a":{"type":["null","array"],"items":{"type":"string"}}},"additionalProperties":false}}`
		old    = `"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"a":{"nullable":true,"type":"ARRAY","items":{"type":"STRING"}}}}}`
		config = `"toolConfig":{"functionCallingConfig":`
	)
	for _, test := range []struct {
		name, id string
		req      llm.Request
		want     string
	}{
		{"tools", "gemini-2.5-pro", llm.Request{Tools: add}, `{` + set + `}`},
		{"required", "gemini-2.5-pro", llm.Request{Tools: add, ToolChoice: "required"}, `{` + set + `,` + config + `{"mode":"ANY"}}}`},
		{"by name", "gemini-2.5-pro", llm.Request{Tools: add, ToolChoice: "add"}, `{` + set + `,` + config + `{"mode":"ANY","allowedFunctionNames":["add"]}}}`},
		{"none", "gemini-2.5-pro", llm.Request{Tools: add, ToolChoice: "none"}, `{` + set + `,` + config + `{"mode":"NONE"}}}`},
		{"without fields", "gemini-2.5-pro", llm.Request{Tools: now}, `{"tools":[{"functionDeclarations":[{"name":"now"}]}]}`},
		{"schema", "gemini-2.5-pro", llm.Request{Schema: schema}, `{` + json1 + `}`},
		{"schema of old", "gemini-2.0-flash", llm.Request{Schema: schema}, `{` + old + `}`},
		{"schema beside tools", "gemini-3-pro-preview", llm.Request{Schema: schema, Tools: add}, `{` + set + `,` + json1 + `}`},
		{"schema instead of tools", "gemini-2.5-pro", llm.Request{Schema: schema, Tools: add, ToolChoice: "none"}, `{` + json1 + `}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := requestBody(t, newModel(test.id), &test.req, "systemInstruction", "tools", "toolConfig", "generationConfig"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	got := requestBody(t, newModel("gemini-2.5-pro"), &llm.Request{System: "Be good.", Schema: schema, Tools: add}, "systemInstruction", "generationConfig")
	if !strings.HasPrefix(got, `{"systemInstruction":{"role":"user","parts":[{"text":"Be good.\n\nAnswer with one JSON value`) || strings.Contains(got, "generationConfig") {
		t.Errorf("a schema in words: %s", got)
	}
}

func TestToolWithoutASchemaThatCanBeRead(t *testing.T) {
	_, _, err := newModel("gemini-2.5-pro").newRequest(&llm.Request{Tools: []llm.Tool{{Name: "x", Schema: json.RawMessage(`7`)}}}, 0)
	if c := llm.ClassOf(err); c != llm.BadRequest {
		t.Errorf("class %s: %v", c, err)
	}
}

func TestConversation(t *testing.T) {
	signed := func(model string) *llm.Opaque {
		return &llm.Opaque{Model: "gemini/" + model, Data: json.RawMessage(`"s"`)}
	}
	call := &llm.ToolCall{ID: "c1", Name: "add", Input: json.RawMessage(`{"a":1}`)}
	result := func(m *llm.Media) []llm.Part {
		return []llm.Part{{Result: &llm.ToolResult{ID: "c1", Name: "add", Text: "5", Media: m}}}
	}
	png := &llm.Media{Type: "image/png", Data: []byte("x")}
	for _, test := range []struct {
		name, id string
		vertex   bool
		parts    []llm.Part
		want     string
	}{
		{"signed text", "gemini-2.5-pro", false, []llm.Part{{Text: "a", Opaque: signed("gemini-2.5-pro")}}, `[{"text":"a","thoughtSignature":"s"}]`},
		{"a signature alone", "gemini-2.5-pro", false, []llm.Part{{Opaque: signed("gemini-2.5-pro")}}, `[{"text":"","thoughtSignature":"s"}]`},
		{"signed thoughts", "gemini-2.5-pro", false, []llm.Part{{Reasoning: "hm", Opaque: signed("gemini-2.5-pro")}}, `[{"text":"hm","thought":true,"thoughtSignature":"s"}]`},
		{"thoughts", "gemini-2.5-pro", false, []llm.Part{{Reasoning: "hm"}, {Text: "a"}}, `[{"text":"a"}]`},
		{"of another model", "gemini-2.5-pro", false, []llm.Part{{Text: "a", Opaque: signed("gemini-2.5-flash")}, {Opaque: signed("gemini-2.5-flash")}}, `[{"text":"a"}]`},
		{"a part kept whole", "gemini-2.5-pro", false, []llm.Part{{Opaque: &llm.Opaque{Model: "gemini/gemini-2.5-pro", Data: json.RawMessage(`{"executableCode":{}}`)}}}, `[{"executableCode":{}}]`},
		{"a call", "gemini-2.5-pro", false, []llm.Part{{Call: call, Opaque: signed("gemini-2.5-pro")}}, `[{"thoughtSignature":"s","functionCall":{"id":"c1","name":"add","args":{"a":1}}}]`},
		{"calls that another model made", "gemini-3-pro-preview", false, []llm.Part{{Call: call, Opaque: signed("gemini-2.5-pro")}, {Call: call}},
			`[{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"id":"c1","name":"add","args":{"a":1}}},{"functionCall":{"id":"c1","name":"add","args":{"a":1}}}]`},
		{"a call at Vertex", "gemini-2.5-pro", true, []llm.Part{{Call: call}}, `[{"functionCall":{"name":"add","args":{"a":1}}}]`},
		{"a result", "gemini-2.5-pro", false, result(nil), `[{"functionResponse":{"id":"c1","name":"add","response":{"result":"5"}}}]`},
		{"an image in a result", "gemini-3-pro-preview", false, result(png),
			`[{"functionResponse":{"id":"c1","name":"add","response":{"result":"5"},"parts":[{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}}]`},
		{"an image beside a result", "gemini-2.5-pro", true, result(png), `[{"functionResponse":{"name":"add","response":{"result":"5"}}},{"inlineData":{"mimeType":"image/png","data":"eA=="}}]`},
		{"a failed result", "gemini-2.5-pro", true, []llm.Part{{Result: &llm.ToolResult{Name: "add", Text: "no", Failed: true}}}, `[{"functionResponse":{"name":"add","response":{"error":"no"}}}]`},
		{"a file elsewhere", "gemini-2.5-pro", true, []llm.Part{{Media: &llm.Media{Type: "video/mp4", URL: "gs://x/y"}}}, `[{"fileData":{"mimeType":"video/mp4","fileUri":"gs://x/y"}}]`},
		{"nothing", "gemini-2.5-pro", false, []llm.Part{{Text: ""}}, `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := conversation{model: "gemini/" + test.id, traits: modelTraits(test.id), ids: !test.vertex}
			got, err := c.writeContents([]llm.Message{{Role: llm.Assistant, Parts: test.parts}})
			if err != nil {
				t.Fatal(err)
			}
			var content any
			if len(got) > 0 {
				content = got[0].Parts
			}
			if text := string(encodeJSON(t, content)); text != test.want {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

func TestNameOfAResult(t *testing.T) {
	c := conversation{}
	got, err := c.writeContents([]llm.Message{
		{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "add"}}}},
		{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c1", Text: "5"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(encodeJSON(t, got[1].Parts)); text != `[{"functionResponse":{"name":"add","response":{"result":"5"}}}]` {
		t.Errorf("got %s", text)
	}
}

func TestFileWithoutAType(t *testing.T) {
	c := conversation{}
	_, err := c.writeContents([]llm.Message{{Parts: []llm.Part{{Media: &llm.Media{Data: []byte("x")}}}}})
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.BadRequest {
		t.Errorf("error %v", err)
	}
}
