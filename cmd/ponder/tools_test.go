package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/knowledge/recall"
	"ponder/knowledge/web"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/gemini"
	"ponder/llm/ollama"
	"ponder/llm/openai"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/tool/approval"
	"ponder/tool/knowledge"
	"ponder/tool/memory"
	"ponder/tool/think"
	"ponder/tool/thread"
	webtool "ponder/tool/web"
)

func ourTools() []ponder.Tool {
	list := append([]ponder.Tool{thread.New(nil, app.LocalOwner), thread.NewRead(nil, deep.Name)}, knowledge.Tools(knowledge.Options{})...)
	list = append(list, (&app.MemoryWriter{}).Tools()...)
	return append(list, webtool.New(webtool.Options{
		Search: func(context.Context, webtool.Query) (webtool.Found, error) { return webtool.Found{}, nil },
		Fetch:  func(context.Context, string) (*web.Page, error) { return nil, nil },
	})...)
}

type toolRecorder struct {
	mu  sync.Mutex
	req *llm.Request
}

func (*toolRecorder) Name() string { return "fake/listener" }

func (l *toolRecorder) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		l.mu.Lock()
		l.req = req
		l.mu.Unlock()
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, "So."), Finish: llm.FinishStop, Model: l.Name()}}, nil)
	}
}

func toolsGiven(t *testing.T, opts chat.Options, tools []ponder.Tool) []llm.Tool {
	t.Helper()
	l := &toolRecorder{}
	synctest.Test(t, func(t *testing.T) {
		m := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{chat.New(opts)}, Models: enginetest.Models(l, ponder.Price{}), Tools: tools})
		for _, key := range []string{"one", "two"} { // the first turn lacks thread_read
			m.Put("", key, ponder.UserMessage{Content: "hello"})
			time.Sleep(time.Minute)
			synctest.Wait()
		}
	})
	if l.req == nil {
		t.Fatal("no model call")
	}
	return l.req.Tools
}

// TestToolsOfSettings records the tools for each setting, verbatim.
func TestToolsOfSettings(t *testing.T) {
	var out strings.Builder
	schemas := make(map[string]llm.Tool)
	for _, set := range []config.Switch{"", "false", "true", config.Auto} {
		for _, model := range []string{"ollama/llama3.1", "openai/o4-mini"} {
			for _, deep := range []bool{true, false} {
				cfg := config.Config{EnableThinking: set}
				opts := app.ChatSetup{Config: cfg, Think: cfg.ShouldThink(model, llm.BuiltInPrices())}.ChatOptions(ourTools())
				opts.Deep = deep
				var names []string
				for _, tool := range toolsGiven(t, opts, ourTools()) {
					names = append(names, tool.Name)
					schemas[tool.Name] = tool
				}
				fmt.Fprintf(&out, "enable_thinking %q, %s, deep_think %v:\n    %s\n", string(set), model, deep, strings.Join(names, " "))
				if want := set == "true" || set == config.Auto && model == "ollama/llama3.1"; slices.Contains(names, think.Name) != want {
					t.Errorf("enable_thinking %q with %s: tools %v", set, model, names)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		var schema bytes.Buffer
		if err := json.Indent(&schema, schemas[name].Schema, "", "  "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n# %s\n\n%s\n\n%s\n", name, strings.TrimSpace(schemas[name].Doc), &schema)
	}
	file := filepath.Join("testdata", "tools.golden")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), out.String()); d != "" {
		t.Error(d)
	}
}

// TestToolSchemas checks that every argument of every tool has a type, in our schema and in
// each provider's request.
func TestToolSchemas(t *testing.T) {
	tools := toolsGiven(t, chat.Options{Think: true, Deep: true, Tools: app.ToolSpecs(ourTools())}, ourTools())
	asks := memory.New(memory.Options{
		Context: func(context.Context, string, string, int) (string, []recall.Hit, error) { return "", nil, nil },
	})
	tools = append(tools, asks[0].Tool, think.New(think.Options{}).Tool)
	for _, tool := range tools {
		for _, fault := range untypedParts(tool.Schema) {
			t.Errorf("%s: %s", tool.Name, fault)
		}
	}
	tools = tools[:len(tools)-1]
	for _, p := range []struct {
		name  string
		model func(base string) llm.Model
	}{
		{"openai, responses", func(base string) llm.Model {
			return openai.New(openai.Config{BaseURL: base, Key: "k", Responses: true}).Model("gpt-6-luna")
		}},
		{"openai, chat", func(base string) llm.Model { return openai.New(openai.Config{BaseURL: base, Key: "k"}).Model("llama3") }},
		{"anthropic", func(base string) llm.Model {
			return anthropic.New(anthropic.Config{BaseURL: base, Key: "k"}).Model("claude-haiku-5-5")
		}},
		{"gemini", func(base string) llm.Model {
			return gemini.New(gemini.Config{BaseURL: base, Key: "k"}).Model("gemini-3.8-flash")
		}},
		{"gemini, old", func(base string) llm.Model {
			return gemini.New(gemini.Config{BaseURL: base, Key: "k"}).Model("gemini-2.0-flash")
		}},
		{"ollama", func(base string) llm.Model { return ollama.New(ollama.Config{BaseURL: base}).Model("llama3") }},
	} {
		t.Run(p.name, func(t *testing.T) {
			sent := sentTools(t, p.model, tools)
			if len(sent) != len(tools) {
				t.Errorf("sent %d of %d tools", len(sent), len(tools))
			}
			for name, schema := range sent {
				for _, fault := range untypedParts(schema) {
					t.Errorf("%s: %s", name, fault)
				}
			}
		})
	}
}

// TestToolsAreDeclared checks that package approval knows every tool and whether it changes something.
func TestToolsAreDeclared(t *testing.T) {
	declared := make(map[string]approval.Effect)
	for _, tool := range approval.Declarations() {
		declared[tool.Name] = tool.Effect
	}
	for _, tool := range toolsGiven(t, chat.Options{Think: true, Deep: true, Tools: app.ToolSpecs(ourTools())}, ourTools()) {
		if effect, ok := declared[tool.Name]; !ok || effect == approval.Act || (effect == approval.Remember) != (tool.Name == memory.RememberName) {
			t.Errorf("%s: declared %v, with effect %v", tool.Name, ok, effect)
		}
	}
}

func sentTools(t *testing.T, model func(string) llm.Model, tools []llm.Tool) map[string]json.RawMessage {
	t.Helper()
	var mu sync.Mutex
	found := make(map[string]json.RawMessage)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/show") { // Ollama is asked this first
			fmt.Fprint(w, `{"capabilities":["completion","tools"]}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		collectTools(body, found)
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	defer srv.Close()
	req := &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "hello")}, Tools: tools, MaxTokens: 100}
	for _, err := range model(srv.URL).Generate(t.Context(), req) {
		if err == nil {
			t.Error("the provider answered")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return found
}

// collectTools finds tool declarations in JSON.
func collectTools(js json.RawMessage, found map[string]json.RawMessage) {
	var list []json.RawMessage
	if json.Unmarshal(js, &list) == nil {
		for _, v := range list {
			collectTools(v, found)
		}
		return
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(js, &fields) != nil {
		return
	}
	var name string
	if json.Unmarshal(fields["name"], &name) == nil {
		for _, key := range []string{"parameters", "input_schema", "parametersJsonSchema"} {
			if fields[key] != nil {
				found[name] = fields[key]
				return
			}
		}
	}
	for _, v := range fields {
		collectTools(v, found)
	}
}

// untypedParts returns the untyped parts of a schema.
func untypedParts(schema json.RawMessage) []string {
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return []string{"the schema is no JSON: " + err.Error()}
	}
	if m, ok := v.(map[string]any); !ok || schemaType(m) != "object" {
		return []string{"the schema is not of an object"}
	}
	return schemaFaults("arguments", v)
}

func schemaFaults(at string, v any) (list []string) {
	m, ok := v.(map[string]any)
	if !ok {
		return []string{at + ": no schema"}
	}
	if any, ok := m["anyOf"].([]any); ok && len(any) > 0 {
		for i, v := range any {
			list = append(list, schemaFaults(fmt.Sprintf("%s (%d)", at, i), v)...)
		}
		return list
	}
	switch kind := schemaType(m); kind {
	case "string", "number", "integer", "boolean", "null":
		return nil
	case "array":
		return schemaFaults(at+"[]", m["items"])
	case "object":
		fields, ok := m["properties"].(map[string]any)
		if !ok || len(fields) == 0 && m["additionalProperties"] != false {
			return []string{at + ": a bare object"}
		}
		for name, v := range fields {
			list = append(list, schemaFaults(at+"."+name, v)...)
		}
		required, _ := m["required"].([]any)
		for _, name := range required {
			if _, ok := fields[fmt.Sprint(name)]; !ok {
				list = append(list, fmt.Sprintf("%s: %v is required and not described", at, name))
			}
		}
		return list
	default:
		return []string{fmt.Sprintf("%s: type %q", at, kind)}
	}
}

// schemaType returns the type of a schema, ignoring null.
func schemaType(m map[string]any) string {
	switch kind := m["type"].(type) {
	case string:
		return strings.ToLower(kind)
	case []any:
		for _, k := range kind {
			if k != "null" {
				return strings.ToLower(fmt.Sprint(k))
			}
		}
	}
	return ""
}

func TestUntyped(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                          "",
		`{"type":"object","properties":{},"additionalProperties":false}`:                                                   "",
		`{"type":"object","properties":{"a":{"type":["integer","null"]},"b":{"type":"ARRAY","items":{"type":"boolean"}}}}`: "",
		`{"type":"object"}`: "arguments: a bare object",
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                  "arguments.a: a bare object",
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                   "arguments.a[]: no schema",
		`{"type":"object","properties":{"a":{"description":"x"}}}`:                `arguments.a: type ""`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`: "arguments: b is required and not described",
		`{"type":"string"}`: "the schema is not of an object",
	} {
		if got := strings.Join(untypedParts(json.RawMessage(schema)), "; "); got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}
