package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"ponder/llm"
	"ponder/llm/llmtest"
)

// Reasoning and calls in the text are separated on the wire, in pieces of any size.
func TestTextOutput(t *testing.T) {
	tools := []llm.Tool{{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)}}
	for _, tt := range []struct {
		name, in, text, calls string
		finish                llm.Finish
	}{
		{"lone end", "I should add them.\n</think>\n\nFour it is.", "Four it is.", "", llm.FinishStop},
		{"harmony", "<|channel|>analysis<|message|>I should add.<|end|><|start|>assistant<|channel|>final<|message|>Four it is.<|return|>", "Four it is.", "", llm.FinishStop},
		{"Hermes", "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 2}}\n</tool_call>", "", `add{"a": 2}`, llm.FinishTools},
		{"Qwen coder", "<tool_call>\n<function=add>\n<parameter=a>\n2\n</parameter>\n</function>\n</tool_call>", "", `add{"a":2}`, llm.FinishTools},
		{"another tool", "<tool_call>{\"name\": \"rob\", \"arguments\": {}}</tool_call>Four it is.", "Four it is.", "", llm.FinishStop},
		{"code", "Write `<think>` and:\n```\n<tool_call>{\"name\": \"add\"}</tool_call>\n```", "Write `<think>` and:\n```\n<tool_call>{\"name\": \"add\"}</tool_call>\n```", "", llm.FinishStop},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for size := 1; size < len(tt.in)+5; size += 1 + size/3 {
				chat, deltas := "", ""
				for rest := tt.in; rest != ""; {
					n := min(size, len(rest))
					js, err := json.Marshal(rest[:n])
					if err != nil {
						t.Fatal(err)
					}
					chat += sayChunk(rest[:n])
					deltas += event1("response.output_text.delta", `,"delta":`+string(js))
					rest = rest[n:]
				}
				for dialect, body := range map[string]string{"chat": chat + finish + counted + done, "responses": deltas + event1("response.completed", `,"response":{"status":"completed","usage":{"input_tokens":10,"output_tokens":5}}`)} {
					_, p := serveCanned(t, Config{BaseURL: "http://localhost/v1", Chat: dialect == "chat", Responses: dialect != "chat"}, streamAnswer(body))
					req := askRequest("x")
					req.Tools = tools
					resp, err := llmtest.Generate(t, p.Model("m"), req)
					if err != nil {
						t.Fatal(err)
					}
					calls := ""
					for _, c := range resp.Message.Calls() {
						if calls += c.Name + string(c.Input); c.ID == "" {
							t.Error("a call has no ID")
						}
					}
					if got := strings.TrimSpace(resp.Message.Text()); got != tt.text || calls != tt.calls || resp.Finish != tt.finish {
						t.Errorf("%s in pieces of %d: %q, %q, %s", dialect, size, got, calls, resp.Finish)
					}
				}
			}
		})
	}
}
