package openai

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

var update = flag.Bool("update", false, "write golden files anew")

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func fullRequest(model string) *llm.Request {
	warm := 0.5
	return &llm.Request{
		System: "Be brief.", MaxTokens: 100, Temperature: &warm, Effort: "minimal", Cache: true, ToolChoice: "look",
		Tools: []llm.Tool{
			{Name: "look", Doc: "Looks.", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}}}`)},
			{Name: "wait", Doc: "Waits."},
		},
		Schema: &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"type":"object","description":"An answer.","properties":{"a":{"type":"string"},"b":{"type":"integer","minimum":0}},"required":["a"],"additionalProperties":{"not":{}}}`)},
		Messages: []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Text: "What is this?"}, {Media: &llm.Media{Type: "image/png", Data: []byte("png")}}}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Reasoning: "I should look.", Opaque: &llm.Opaque{Model: model, Data: json.RawMessage(`{"field":"reasoning","reasoning_details":[{"type":"reasoning.text","text":"I should look."}]}`)}},
				{Text: "Let me see."},
				{Call: &llm.ToolCall{ID: "call_1", Name: "look", Input: json.RawMessage(`{"at": "<it>"}`)}},
				{Call: &llm.ToolCall{ID: "call_2", Name: "wait", Input: json.RawMessage(`"not JSON"`)}},
			}},
			{Role: llm.User, Parts: []llm.Part{
				{Result: &llm.ToolResult{ID: "call_1", Name: "look", Text: "a cat", Media: &llm.Media{Type: "image/png", URL: "https://x.test/cat.png"}}},
				{Text: "Go on."},
			}},
		},
	}
}

// Requests to each known host match golden files.
func TestRequests(t *testing.T) {
	models := map[string]string{
		"api.openai.com": "gpt-5.2", "openai.azure.com": "gpt-4o", "openrouter.ai": "anthropic/claude-haiku-4.5", "ai-gateway.vercel.sh": "openai/gpt-5",
		"api.deepseek.com": "deepseek-v4", "api.moonshot.ai": "kimi-k2.5", "localhost": "qwen3",
	}
	names := []string{"localhost"}
	for _, h := range knownHosts() {
		names = append(names, h.domains[0])
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			id := models[name]
			if id == "" {
				id = "model-1"
			}
			for _, dialect := range []string{"chat", "responses"} {
				if dialect == "responses" && !findHost(name).responses && name != "openai.azure.com" {
					continue
				}
				server, p := serveCanned(t, Config{BaseURL: "https://" + name + "/v1", Chat: dialect == "chat", Responses: dialect == "responses"}, cannedAnswer{500, "", ""})
				_, err := llmtest.Generate(t, p.Model(id), fullRequest("openai/"+id))
				if llm.ClassOf(err) != llm.Transient {
					t.Fatal(err)
				}
				text, err := json.MarshalIndent(server.asked[0], "", "  ")
				if err != nil {
					t.Fatal(err)
				}
				checkGolden(t, "requests/"+name+"."+dialect+".json", append(text, '\n'))
			}
		})
	}
}

func TestEffort(t *testing.T) {
	tests := []struct {
		host, model, want string
		sent              string
	}{
		{"api.openai.com", "gpt-5.2", "minimal", `"low"`},
		{"api.openai.com", "gpt-5.2", "none", `"none"`},
		{"api.openai.com", "gpt-5-mini", "none", `"minimal"`},
		{"api.openai.com", "gpt-5", "high", `"high"`},
		{"api.openai.com", "o4-mini", "minimal", `"low"`},
		{"api.openai.com", "gpt-4o", "high", `null`},
		{"api.openai.com", "gpt-5-chat-latest", "high", `null`},
		{"api.mistral.ai", "mistral-large", "high", `null`},
		{"api.mistral.ai", "magistral-medium-2509", "high", `null`},
		{"api.mistral.ai", "magistral-medium-latest", "minimal", `"none"`},
		{"api.mistral.ai", "mistral-medium-latest", "max", `"high"`},
		{"api.mistral.ai", "mistral-small-latest", "medium", `"high"`},
		{"api.mistral.ai", "mistral-medium-3-5", "minimal", `"none"`},
		{"api.mistral.ai", "mistral-large-4-0", "none", `"low"`},
		{"api.x.ai", "grok-3-mini", "minimal", `"low"`},
		{"api.groq.com", "openai/gpt-oss-20b", "none", `"low"`},
		{"api.groq.com", "llama-4", "none", `null`},
		{"localhost", "qwen3", "medium", `"medium"`},
		{"localhost", "qwen3", "none", `null`},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.model+" "+tt.want, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "https://" + tt.host, Chat: true}, streamAnswer(finish))
			req := askRequest("x")
			req.Effort = tt.want
			if _, err := llmtest.Generate(t, p.Model(tt.model), req); err != nil {
				t.Fatal(err)
			}
			if got := string(rawJSON(server.asked[0]["reasoning_effort"])); got != tt.sent {
				t.Errorf("sent %s, want %s", got, tt.sent)
			}
		})
	}
}

func TestOffSwitches(t *testing.T) {
	for host, want := range map[string]string{
		"api.z.ai": `{"type":"disabled"}`, "localhost": `{"enable_thinking":false}`, "openrouter.ai": `{"effort":"none"}`,
	} {
		server, p := serveCanned(t, Config{BaseURL: "https://" + host, Chat: true}, streamAnswer(finish))
		req := askRequest("x")
		req.Effort = "none"
		if _, err := llmtest.Generate(t, p.Model("m"), req); err != nil {
			t.Fatal(err)
		}
		sent := server.asked[0]
		got := ""
		for _, key := range []string{"thinking", "chat_template_kwargs", "reasoning"} {
			if sent[key] != nil {
				got += string(rawJSON(sent[key]))
			}
		}
		if got != want {
			t.Errorf("%s: sent %s, want %s", host, got, want)
		}
	}
}

// thinkingRequest reasons, then calls a tool.
func thinkingRequest(model, field string) *llm.Request {
	thought := llm.Part{Reasoning: "why"}
	if field != "" {
		thought.Opaque = &llm.Opaque{Model: model, Data: json.RawMessage(`{"field":"` + field + `","reasoning_details":[{"type":"x"}]}`)}
	}
	return &llm.Request{Messages: []llm.Message{
		llm.Say(llm.User, "x"),
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: "before"}, {Text: "a"}}},
		llm.Say(llm.User, "y"),
		{Role: llm.Assistant, Parts: []llm.Part{thought, {Call: &llm.ToolCall{ID: "c", Name: "f", Input: json.RawMessage("{}")}}}},
		{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c", Name: "f", Text: "1"}}}},
	}}
}

func TestReplay(t *testing.T) {
	none := thinkingRequest("", "")
	none.Messages[3].Parts = none.Messages[3].Parts[1:]
	tests := []struct {
		name, host, model string
		req               *llm.Request
		field, words      string // sent
		details           bool
	}{
		{"own field, whatever the host's", "localhost", "m", thinkingRequest("openai/m", "reasoning"), "reasoning", "why", true},
		{"another model's", "localhost", "m", thinkingRequest("openai/n", "reasoning"), "", "", false},
		{"another provider's", "openrouter.ai", "m", thinkingRequest("anthropic/m", "reasoning_content"), "", "", false},
		{"another model's, where some must be", "api.deepseek.com", "deepseek-v4", thinkingRequest("openai/n", "reasoning"), "reasoning_content", "why", false},
		{"a host that wants none", "api.groq.com", "m", thinkingRequest("", ""), "", "", false},
		{"a host that insists, on nothing", "api.deepseek.com", "deepseek-v4", none, "reasoning_content", " ", false},
		{"a model that insists, anywhere", "api.groq.com", "kimi-k2.5", none, "reasoning_content", " ", false},
		{"nothing to give", "localhost", "m", none, "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server, p := serveCanned(t, Config{BaseURL: "https://" + tt.host, Chat: true}, streamAnswer(finish))
			if _, err := llmtest.Generate(t, p.Model(tt.model), tt.req); err != nil {
				t.Fatal(err)
			}
			for i, m := range listAt(server.asked[0], "messages") {
				field, words, details := tt.field, tt.words, tt.details
				if i != 3 {
					field, words, details = "", "", false // only with calls
				}
				for _, f := range []string{"reasoning_content", "reasoning"} {
					want := ""
					if f == field {
						want = words
					}
					if got := stringAt(m, f); got != want {
						t.Errorf("message %d has %s %q, want %q", i, f, got, want)
					}
				}
				if got := valueAt(m, "reasoning_details") != nil; got != details {
					t.Errorf("message %d has details: %v, want %v", i, got, details)
				}
			}
		})
	}
}

// Reasoning goes back only to its model, with calls.
func TestReplayResponses(t *testing.T) {
	item := `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"secret"}`
	body := event1("response.output_item.added", `,"item":{"type":"reasoning"}`) +
		event1("response.reasoning_summary_text.delta", `,"delta":"why","summary_index":0`) +
		event1("response.output_item.done", `,"item":{"id":"rs_1","type":"reasoning","status":"completed","content":[],"summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"secret"}`) +
		event1("response.output_item.done", `,"item":{"type":"reasoning","id":"rs_2","encrypted_content":"more"}`) +
		event1("response.output_item.done", `,"item":{"type":"reasoning","id":"rs_3","summary":[]}`) +
		event1("response.output_item.done", `,"item":{"type":"message","phase":"commentary","content":[{"type":"output_text","text":"Wait."}]}`) +
		event1("response.output_item.done", `,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`) +
		event1("response.completed", completed)
	server, p := serveCanned(t, Config{Responses: true}, streamAnswer(body))
	resp, err := llmtest.Generate(t, p.Model("gpt-5"), askRequest("x"))
	if err != nil {
		t.Fatal(err)
	}
	next := askRequest("x")
	next.Messages = append(next.Messages, resp.Message,
		llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: "c", Text: "1"}}}})
	want := `[{"role":"user","content":"x"},` + item +
		`,{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"more"},{"role":"assistant","content":"Wait.","phase":"commentary"},` +
		`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]`
	for _, id := range []string{"gpt-5", "gpt-5-mini"} {
		if _, err := llmtest.Generate(t, p.Model(id), next); err != nil {
			t.Fatal(err)
		}
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, server.asked[len(server.asked)-1]["input"]); diff != "" {
			t.Errorf("%s: input (-want +got):\n%s", id, diff)
		}
		// Neither reasoning nor phase.
		want = `[{"role":"user","content":"x"},{"role":"assistant","content":"Wait."},` +
			`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]`
	}
}

// Unmatched calls and results become valid.
func TestLooseEnds(t *testing.T) {
	call := func(id string) llm.Part {
		return llm.Part{Call: &llm.ToolCall{ID: id, Name: "f", Input: json.RawMessage("{}")}}
	}
	result := func(id string) llm.Part {
		return llm.Part{Result: &llm.ToolResult{ID: id, Name: "f", Text: "1"}}
	}
	req := &llm.Request{Messages: []llm.Message{
		{Role: llm.User, Parts: []llm.Part{result("lost")}},
		{Role: llm.Assistant, Parts: []llm.Part{call("a"), call("b")}},
		{Role: llm.User, Parts: []llm.Part{result("b"), {Text: "and"}}},
		{Role: llm.Assistant, Parts: []llm.Part{{Reasoning: "only thought"}}},
		{Role: llm.Assistant, Parts: []llm.Part{call("c")}},
	}}
	for dialect, want := range map[string]string{
		"chat":      "user tool:b tool:a user tool:c",
		"responses": "user function_call:a function_call:b function_call_output:b function_call_output:a user function_call:c function_call_output:c",
	} {
		server, p := serveCanned(t, Config{Chat: dialect == "chat"}, cannedAnswer{500, "", ""})
		_, _ = llmtest.Generate(t, p.Model("m"), req)
		var got []string
		for _, m := range append(listAt(server.asked[0], "messages"), listAt(server.asked[0], "input")...) {
			s := stringAt(m, "role") + stringAt(m, "type")
			if id := stringAt(m, "tool_call_id") + stringAt(m, "call_id"); id != "" {
				s += ":" + id
			}
			if s != "assistant" {
				got = append(got, s)
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %s, want %s", dialect, s, want)
		}
	}
}

func TestFitID(t *testing.T) {
	long := strings.Repeat("x", 65)
	tests := []struct {
		name, in string
		n        int
		want     int // length
		same     bool
	}{
		{"short", "functions.add:0", 0, 15, true},
		{"too long", long, 0, 37, false},
		{"nine", "abcdefgh1", 9, 9, true},
		{"nine with a dash", "call-fgh1", 9, 9, false},
		{"for nine", "call_abcdef", 9, 9, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fitID(tt.in, tt.n)
			if len(got) != tt.want || (got == tt.in) != tt.same || got != fitID(tt.in, tt.n) {
				t.Errorf("fitID(%q, %d) = %q", tt.in, tt.n, got)
			}
		})
	}
}

func TestMedia(t *testing.T) {
	tests := []struct {
		name       string
		media      llm.Media
		chat, resp string // "" is an error
	}{
		{"image", llm.Media{Type: "image/png", Data: []byte("x")}, `{"image_url":{"url":"data:image/png;base64,eA=="},"type":"image_url"}`, `{"image_url":"data:image/png;base64,eA==","type":"input_image"}`},
		{"image by link", llm.Media{Type: "image/png", URL: "https://x.test/a"}, `{"image_url":{"url":"https://x.test/a"},"type":"image_url"}`, `{"image_url":"https://x.test/a","type":"input_image"}`},
		{"document", llm.Media{Type: "application/pdf", Data: []byte("x"), Name: "a.pdf"}, `{"file":{"file_data":"data:application/pdf;base64,eA==","filename":"a.pdf"},"type":"file"}`, `{"file_data":"data:application/pdf;base64,eA==","filename":"a.pdf","type":"input_file"}`},
		{"document by link", llm.Media{Type: "application/pdf", URL: "https://x.test/a"}, "", `{"file_url":"https://x.test/a","type":"input_file"}`},
		{"sound", llm.Media{Type: "audio/mpeg", Data: []byte("x")}, `{"input_audio":{"data":"eA==","format":"mp3"},"type":"input_audio"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for dialect, want := range map[string]string{"chat": tt.chat, "responses": tt.resp} {
				server, p := serveCanned(t, Config{Chat: dialect == "chat"}, cannedAnswer{500, "", ""})
				req := &llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{{Media: &tt.media}}}}}
				_, err := llmtest.Generate(t, p.Model("m"), req)
				if want == "" {
					if llm.ClassOf(err) != llm.BadRequest || len(server.asked) != 0 {
						t.Errorf("%s: got %v", dialect, err)
					}
					continue
				}
				msgs := append(listAt(server.asked[0], "messages"), listAt(server.asked[0], "input")...)
				if got := string(rawJSON(valueAt(msgs[0], "content", 0))); got != want {
					t.Errorf("%s: got %s, want %s", dialect, got, want)
				}
			}
		})
	}
}

// A growing conversation keeps its key.
func TestCacheKey(t *testing.T) {
	req := fullRequest("m")
	key := cacheKey(req)
	req.Messages = append(req.Messages, llm.Say(llm.User, "more"))
	if cacheKey(req) != key {
		t.Error("the key changes as the conversation grows")
	}
	req.System += "!"
	if cacheKey(req) == key {
		t.Error("another conversation has the same key")
	}
}
