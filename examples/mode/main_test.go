package main

import (
	"context"
	"testing"

	"ponder"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func TestDrafts(t *testing.T) {
	m := &llmtest.Model{Answer: func(r *llm.Request) (llm.Message, error) {
		last := r.Messages[len(r.Messages)-1].Text()
		return llm.Say(llm.Assistant, "re: "+last), nil
	}}
	answer, err := run(context.Background(), []ponder.Model{{Model: m}}, "Why?")
	if want := "re: " + steps[2].prompt; err != nil || answer != want || m.Counts().Calls != len(steps) {
		t.Errorf("answer %q, want %q, after %d calls: %v", answer, want, m.Counts().Calls, err)
	}
}
