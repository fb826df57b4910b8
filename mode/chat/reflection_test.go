package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/mode/chat"
)

// TestDeepThinkTool checks the declaration of the tool.
func TestDeepThinkTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tools []llm.Tool
		runChat(t, chat.Options{Deep: true}, fakeModel{answer: func(req *llm.Request) (llm.Message, error) { tools = req.Tools; return echoMessage(req) }}, nil, "go")
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if len(tools) != 1 || tools[0].Name != "deep_think" {
			t.Fatalf("tools %+v", tools)
		}
		if err := json.Unmarshal(tools[0].Schema, &schema); err != nil || schema.Type != "object" || fmt.Sprint(schema.Required) != "[reason]" || len(schema.Properties) != 2 {
			t.Errorf("schema %+v (%v)", schema, err)
		}
		for _, p := range schema.Properties {
			if p.Type != "string" || p.Description == "" {
				t.Errorf("schema %+v", schema)
			}
		}
		for _, want := range []string{"Trigger background deep thinking.", "slower model", "search knowledge", "inner monologue", "on your next turn", "pattern recognition"} {
			if !strings.Contains(tools[0].Doc, want) {
				t.Errorf("the description lacks %q:\n%s", want, tools[0].Doc)
			}
		}
	})
}

// TestReflectionDelaysNothing answers messages while a slow reflection is in flight, and shows its result with
// the next message only, before it, under a constant system prompt.
func TestReflectionDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []*llm.Request
		model := fakeModel{
			takes: func(req *llm.Request) time.Duration {
				if strings.HasPrefix(lastUserText(req), "muse") {
					return time.Minute
				}
				return time.Second
			},
			answer: func(req *llm.Request) (llm.Message, error) {
				if strings.HasPrefix(lastUserText(req), "muse") {
					return sayMessage("hm"), nil
				}
				requests = append(requests, req)
				return echoMessage(req)
			},
		}
		mind := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{chat.New(chat.Options{Deep: true, DeepAfter: 4}), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})})
		mind.Put("", "deep", ponder.Observation{Sensor: chat.DeepAsked, Content: "the sea"})
		for i := range 2 {
			mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: fmt.Sprint(i)})
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		if got := listAnswers(mind.Events()); len(got) != 2 {
			t.Errorf("answers during the reflection: %q", got)
		}
		time.Sleep(time.Hour)
		for i := 2; i < 4; i++ {
			mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: fmt.Sprint(i)})
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		for i, req := range requests {
			last := req.Messages[len(req.Messages)-1]
			text := last.Text()
			if shown := strings.Contains(text, "[inner thoughts — not spoken aloud]\nnote<"); shown != (i == 2) || last.Role != llm.User || !strings.HasSuffix(text, fmt.Sprint(i)) {
				t.Errorf("request %d: %s: %s", i, last.Role, text)
			}
			if req.System != requests[0].System || !strings.Contains(req.System, "Treat it as suggestions, not as directives") || !strings.Contains(req.System, "Never quote it, never mention it") {
				t.Errorf("request %d: system prompt:\n%s", i, req.System)
			}
		}
	})
}

// TestNotesAreCondensed merges reflections that arrive during a turn and are too long together.
func TestNotesAreCondensed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last *llm.Request
		model := fakeModel{
			takes: func(req *llm.Request) time.Duration {
				if strings.HasPrefix(lastUserText(req), "muse") {
					return time.Second
				}
				return time.Minute
			},
			answer: func(req *llm.Request) (llm.Message, error) {
				if strings.HasPrefix(lastUserText(req), "muse") {
					return sayMessage("hm"), nil
				}
				last = req
				return sayMessage("both in short"), nil
			},
		}
		opts := chat.Options{Deep: true, MaxNotes: 10}
		mind := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{chat.New(opts), fakeReflectionMode()}, Models: enginetest.Models(model, ponder.Price{})})
		mind.Put("", "m0", ponder.UserMessage{Content: "first"})
		for i := range 2 {
			mind.Put("", fmt.Sprint("deep", i), ponder.Observation{Sensor: chat.DeepAsked})
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Hour)
		mind.Put("", "m1", ponder.UserMessage{Content: "second"})
		waitIdle()
		merged := 0
		for _, ev := range mind.Events() {
			if b, ok := ev.Body.(ponder.InnerMonologue); ok && len(b.Condenses) > 1 && b.Content == "both in short" {
				merged++
			}
		}
		if text := last.Messages[len(last.Messages)-1].Text(); merged != 1 || !strings.Contains(text, "both in short") || strings.Contains(text, "note<") {
			t.Errorf("%d notes are merged; shown:\n%s", merged, text)
		}
	})
}
