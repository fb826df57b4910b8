package title

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"The deep sea", "The deep sea"},
		{"\n**Title: \"The deep sea.\"**\nIt is about", "The deep sea"},
		{"# The\tdeep   sea", "The deep sea"},
		{" \n\"\"\n", ""},
		{"\x1b[31mred", "red"},
		{"\x1b[31mRED\x1b[0m \x1b]0;title\x07sea", "RED sea"},
		{strings.Repeat("word ", 30), "word word word word word word word word word word word…"},
	} {
		if got := cleanTitle(tt.text); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

type namer struct{ fails bool }

func (namer) Name() string { return "fake/namer" }
func (m namer) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.fails {
			yield(llm.Delta{}, &llm.Error{Class: llm.Auth, Model: m.Name(), Message: "no"})
			return
		}
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, "\"The deep sea\"\n"), Finish: llm.FinishStop, Model: m.Name()}}, nil)
	}
}

type parrot struct{ waits bool }

func (s parrot) Apply(ev ponder.Event) ponder.State {
	switch ev.Body.(type) {
	case ponder.UserMessage:
		s.waits = true
	case ponder.AssistantMessage:
		s.waits = false
	}
	return s
}
func (s parrot) Next(ponder.Moment) []ponder.Action {
	if s.waits {
		return []ponder.Action{ponder.Write{Key: "say", Bodies: []ponder.Body{ponder.AssistantMessage{Content: "indeed"}}}}
	}
	return []ponder.Action{ponder.Finish{Answer: "indeed"}}
}

func TestTitle(t *testing.T) {
	for fails, want := range map[bool]string{false: "The deep sea", true: "how deep is the sea, and why do"} {
		synctest.Test(t, func(t *testing.T) {
			modes := []ponder.Mode{New(), {Name: "parrot", Version: 1, History: true, Start: func(ponder.Run) ponder.State { return parrot{} },
				Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok }}}
			mind := enginetest.Start(t, engine.Config{Modes: modes, Models: enginetest.Models(namer{fails}, ponder.Price{})})
			for i := range 20 {
				mind.Put("", fmt.Sprint("m", i), ponder.UserMessage{Content: "how deep is the sea, and why do we not know it?"})
				time.Sleep(time.Minute)
				synctest.Wait()
			}
			var titles []string
			calls := 0
			for _, ev := range mind.Events() {
				switch b := ev.Body.(type) {
				case ponder.TitleGenerated:
					titles = append(titles, b.Content)
				case ponder.CallStarted:
					calls++
				}
			}
			if !slices.Equal(titles, []string{want}) || calls != 1 {
				t.Errorf("fails %v: %q after %d calls, want %q", fails, titles, calls, want)
			}
		})
	}
}
