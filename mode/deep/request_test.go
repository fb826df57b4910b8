package deep

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
)

// TestReflectionRequest shows the inner voice the newest part of the conversation, and its earlier notes.
func TestReflectionRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requests []*llm.Request
		model := fakeModel{time.Second, func(req *llm.Request) (llm.Message, error) {
			requests = append(requests, req)
			return llm.Say(llm.Assistant, "hmm: odd\n\nthoughts: so"), nil
		}}
		var says []timedInput
		for i := range 60 {
			says = append(says, timedInput{time.Second, fmt.Sprintf("message %d.", i)})
		}
		evs := runReflections(t, Options{}, model, nil, append(says, timedInput{time.Second, "/deep the sea"}, timedInput{time.Hour, "/deep the sky"}, timedInput{time.Hour, "/deep "})...)
		if len(requests) != 3 {
			t.Fatalf("%d requests", len(requests))
		}
		first, second := requests[0].Messages[0].Text(), requests[1].Messages[0].Text()
		if !strings.HasPrefix(requests[0].System, "You are the inner voice of an AI assistant. You are thinking privately — nothing you say will be shown to the user.") {
			t.Errorf("system prompt:\n%s", requests[0].System)
		}
		for _, want := range []string{"Note patterns", "form hypotheses", "what you know and what you don't know", "suggest what to explore", "Be concise but thorough"} {
			if !strings.Contains(requests[0].System, want) {
				t.Errorf("the system prompt lacks %q", want)
			}
		}
		if strings.Contains(first, "message 9.") || !strings.Contains(first, "User: message 10.") || !strings.Contains(first, "User: message 59.") || strings.Count(first, "User: ") != maxLines {
			t.Errorf("shown:\n%s", first)
		}
		if !strings.HasSuffix(first, "\n\nFocus on: the sea") || !strings.Contains(second, "You thought before: hmm: odd") || !strings.HasSuffix(second, "Focus on: the sky") {
			t.Errorf("shown:\n%s\n\nthen:\n%s", first, second)
		}
		if third := requests[2].Messages[0].Text(); strings.Contains(third, "Focus on") || !strings.Contains(third, "User: message 59.") {
			t.Errorf("shown without a topic:\n%s", third)
		}
		var asked []string
		for _, ev := range evs {
			switch b := ev.Body.(type) {
			case ponder.Observation:
				asked = append(asked, ev.ID)
			case ponder.InnerMonologue:
				if b.Tool != Tool || b.Trigger != asked[len(asked)-1] || b.Reason == "" {
					t.Errorf("%+v, requested by %v", b, asked)
				}
			}
		}
	})
}
