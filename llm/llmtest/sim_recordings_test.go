package llmtest_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ponder/llm/llmtest"
)

// The recordings have each field and transition of the Sim's events.
func TestSimIsLikeTheRecordings(t *testing.T) {
	tests := []struct{ name, dialect, host string }{
		{"openai", "oaichat", "api.openai.com"}, {"responses", "oairesp", "api.openai.com"},
		{"anthropic", "anth", "api.anthropic.com"}, {"gemini", "gem", "generativelanguage.googleapis.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fields, steps := map[string]bool{}, map[string]bool{}
			for _, r := range llmtest.Recordings(t, test.dialect) {
				u, err := url.Parse(r.URL)
				if err == nil && u.Host == test.host {
					collectFields(string(r.Body), fields, steps)
				}
			}
			for _, stream := range []bool{true, false} {
				for name, c := range toolCalls(stream) {
					if name == test.name {
						compareFields(t, c.sendTo(t, llmtest.SimConfig{}).body, fields, steps)
					}
				}
				c := newBehaviourConfig(llmtest.Reason)
				if test.name == "openai" {
					c = newBehaviourConfig() // not shown by OpenAI
				}
				compareFields(t, newCalls(story, stream)[test.name].sendTo(t, c).body, fields, steps)
			}
		})
	}
}

func toolCalls(stream bool) map[string]call {
	schema := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`
	tools := map[string]string{
		"openai":    `"tools":[{"type":"function","function":{"name":"add","parameters":S}},{"type":"function","function":{"name":"multiply","parameters":S}}]`,
		"responses": `"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"add","parameters":S},{"type":"function","name":"multiply","parameters":S}]`,
		"anthropic": `"tools":[{"name":"add","input_schema":S},{"name":"multiply","input_schema":S}]`,
		"gemini":    `"tools":[{"functionDeclarations":[{"name":"add","parameters":S},{"name":"multiply","parameters":S}]}]`,
	}
	calls := newCalls("Please add and multiply 2 and 3.", stream)
	for name, list := range tools {
		c := calls[name]
		c.body = strings.TrimSuffix(c.body, "}") + "," + strings.ReplaceAll(list, "S", schema) + "}"
		calls[name] = c
	}
	delete(calls, "ollama")
	return calls
}

// collectFields records fields and transitions.
func collectFields(body string, fields, steps map[string]bool) {
	last := "start"
	for _, ev := range eventPayloads(body) {
		var v any
		if json.Unmarshal([]byte(ev), &v) != nil {
			continue
		}
		kind := kindOfEvent(v)
		walkFields(kind, v, fields)
		steps[last+" > "+kind] = true
		last = kind
	}
}

func compareFields(t *testing.T, body string, fields, steps map[string]bool) {
	t.Helper()
	ours, order := map[string]bool{}, map[string]bool{}
	collectFields(body, ours, order)
	if len(ours) == 0 {
		t.Errorf("no events in %s", body)
	}
	for _, f := range slices.Sorted(maps.Keys(ours)) {
		if !fields[f] {
			t.Errorf("field %s is in no recording", f)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(order)) {
		if !steps[s] {
			t.Errorf("step %s is in no recording", s)
		}
	}
}

func eventPayloads(body string) (all []string) {
	if strings.HasPrefix(strings.TrimSpace(body), "{") {
		return []string{body}
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			all = append(all, data)
		}
	}
	return all
}

// kindOfEvent includes distinguishing fields.
func kindOfEvent(v any) string {
	m, _ := v.(map[string]any)
	kind, _ := m["type"].(string)
	if kind == "" {
		kind, _ = m["object"].(string)
	}
	for _, inner := range []string{"delta", "content_block", "item", "part"} {
		if in, ok := m[inner].(map[string]any); ok {
			if s, ok := in["type"].(string); ok {
				kind += "/" + s
			}
		}
	}
	return kind
}

func walkFields(path string, v any, fields map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if k == "args" || k == "input" || k == "schema" || k == "arguments" {
				x = nil
			}
			fields[path+"."+k] = true
			walkFields(path+"."+k, x, fields)
		}
	case []any:
		for _, x := range v {
			walkFields(path+"[]", x, fields)
		}
	}
}
