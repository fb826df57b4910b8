package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// toolCaller is a model that calls a tool with a secret, and an unknown tool.
type toolCaller struct{}

func (toolCaller) Name() string { return "fake/caller" }
func (toolCaller) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		parts := []llm.Part{{Text: "so"}}
		for _, name := range []string{"note", "clumsy", "other"} {
			parts = append(parts, llm.Part{Call: &llm.ToolCall{ID: name, Name: name, Input: json.RawMessage(`{"text":"the key is sk-12345"}`)}})
		}
		yield(llm.Delta{Done: &llm.Response{Message: llm.Message{Role: llm.Assistant, Parts: parts}, Finish: llm.FinishTools, Model: "fake/caller"}}, nil)
	}
}

// TestRedact checks that no event has the redacted input of a tool, also if Redact panics,
// and that inputs of other tools stay.
func TestRedact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		note := ponder.Tool{Tool: llm.Tool{Name: "note"}, Redact: func(in json.RawMessage) json.RawMessage {
			return bytes.ReplaceAll(in, []byte("sk-12345"), []byte("[redacted]"))
		}}
		clumsy := ponder.Tool{Tool: llm.Tool{Name: "clumsy"}, Redact: func(json.RawMessage) json.RawMessage { panic("at the disco") }}
		eng := enginetest.Start(t, engine.Config{
			Modes: []ponder.Mode{stepsMode(1)}, Models: enginetest.Models(toolCaller{}, ponder.Price{}), Tools: []ponder.Tool{note, clumsy},
		})
		eng.Ask("steps", "go", nil, ponder.Budget{})
		found := 0
		for _, ev := range eng.Events() {
			b, ok := ev.Body.(ponder.CallFinished)
			if !ok {
				continue
			}
			var got []string
			for _, c := range b.Message.Calls() {
				got = append(got, string(c.Input))
			}
			want := `{"text":"the key is [redacted]"} {} {"text":"the key is sk-12345"}`
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s: %s, want %s", ev.Cause, text, want)
			}
			found++
		}
		if found != 2 {
			t.Errorf("%d calls were finished, want 2", found)
		}
	})
}

// TestRedactOfModes checks that no event has the redacted text of a mode, also if Redact
// panics.
func TestRedactOfModes(t *testing.T) {
	for name, redact := range map[string]func(llm.Message) llm.Message{
		"redacts": func(m llm.Message) llm.Message { return llm.Say(m.Role, "[redacted]") },
		"panics":  func(llm.Message) llm.Message { panic("at the disco") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mode := stepsMode(1)
				mode.Redact = redact
				eng := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{mode}, Models: enginetest.Models(toolCaller{}, ponder.Price{})})
				eng.Ask("steps", "go", nil, ponder.Budget{})
				found := 0
				for _, ev := range eng.Events() {
					if b, ok := ev.Body.(ponder.CallFinished); ok {
						found++
						if len(b.Message.Calls()) > 0 {
							t.Errorf("%s: %v", ev.Cause, b.Message)
						}
					}
				}
				if found == 0 {
					t.Error("no call was finished")
				}
			})
		})
	}
}
