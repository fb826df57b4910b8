package structured

import (
	"errors"
	"strings"
	"testing"

	"ponder/llm"
)

func TestRetry(t *testing.T) {
	req := llm.Request{System: "s", Messages: []llm.Message{llm.Say(llm.User, "q")}}
	if got := (Retry{}).Request(req); len(got.Messages) != 1 {
		t.Errorf("without a bad answer: %d messages", len(got.Messages))
	}
	r := NewRetry(" bad "+strings.Repeat("x", 2*maxBad), llm.FinishStop, errors.Join(&llm.Error{Class: llm.Malformed, Message: "no\nlist"}))
	if len(r.Bad) > maxBad || !strings.HasPrefix(r.Bad, "bad") || r.Why != "no list" {
		t.Errorf("%d bytes, %q", len(r.Bad), r.Why)
	}
	got := r.Request(req)
	if len(got.Messages) != 3 || got.Messages[1].Text() != r.Bad || !strings.Contains(got.Messages[2].Text(), "no list") || len(req.Messages) != 1 {
		t.Errorf("asked again with %+v", got.Messages)
	}
}

// A repetition is not quoted, but kept in case that the next answer is worse.
func TestRetryAfterLoop(t *testing.T) {
	req := llm.Request{System: "s", Messages: []llm.Message{llm.Say(llm.User, "q")}}
	r := NewRetry("so and so", llm.FinishLoop, errors.New("no list"))
	if got := r.Request(req); len(got.Messages) != 1 || got.Penalty != llm.RepetitionPenalty || req.Penalty != 0 || r.Bad != "so and so" {
		t.Errorf("asked again with %+v after %+v", got, r)
	}
}
