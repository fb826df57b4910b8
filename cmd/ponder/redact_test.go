package main

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/llm"
)

// key looks like a key of a provider.
const key = "AKIAIOSFODNN7EXAMPLE"

// A leakyModel model writes a key into all internal text.
type leakyModel struct{}

func (leakyModel) Name() string { return "fake/indiscreet" }

func (m leakyModel) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		msg := llm.Say(llm.Assistant, "So.")
		last := req.Messages[len(req.Messages)-1].Parts
		switch {
		case strings.Contains(req.System, "inner voice"):
			msg.Parts = []llm.Part{{Reasoning: "use " + key}, {Text: "hmm: " + key + "\n\nthoughts: " + key + "\n```mermaid\ngraph TD\nA-->" + key + "\n```"}}
		case len(last) > 0 && last[0].Result == nil && len(req.Tools) > 0:
			msg.Parts = []llm.Part{{Call: &llm.ToolCall{ID: "c1", Name: "deep_think", Input: json.RawMessage(`{"prompt":"` + key + ` is odd","reason":"` + key + ` is new"}`)}}}
		}
		yield(llm.Delta{Done: &llm.Response{Message: msg, Finish: llm.FinishStop, Model: m.Name()}}, nil)
	}
}

// TestReflectionsAreRedacted checks that no event has a secret: neither the request of a
// reflection nor its result.
func TestReflectionsAreRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		models := enginetest.Models(leakyModel{}, ponder.Price{})
		how := app.ChatSetup{Models: models, Name: "fake/indiscreet"}
		mind := enginetest.Start(t, engine.Config{Modes: app.Modes(how, how.OwnTools()), Models: models, Tools: how.OwnTools()})
		mind.Put("", "one", ponder.UserMessage{Content: "hello"})
		time.Sleep(time.Hour)
		synctest.Wait()
		mused, drawn := false, false
		for _, ev := range mind.Events() {
			js, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(js), key) {
				t.Errorf("%s", js)
			}
			switch b := ev.Body.(type) {
			case ponder.InnerMonologue:
				mused = strings.Contains(b.Reason+b.Content, "[redacted: ")
			case ponder.AttachmentAdded:
				drawn = true
			}
		}
		if !mused || !drawn {
			t.Errorf("a reflection %v, a diagram %v", mused, drawn)
		}
	})
}
