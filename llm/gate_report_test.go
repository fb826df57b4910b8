package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"ponder/llm"
)

// A limitedModel refuses its first request for a while.
type limitedModel struct{ asked int }

func (m *limitedModel) Name() string { return "test/m" }

func (m *limitedModel) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if m.asked++; m.asked == 1 {
			yield(llm.Delta{}, &llm.Error{Class: llm.RateLimited, Status: 429, RetryAfter: 7 * time.Second})
			return
		}
		yield(llm.Delta{Text: "ok", Done: &llm.Response{Message: llm.Say(llm.Assistant, "ok"), Finish: llm.FinishStop}}, nil)
	}
}

// While a model is rate-limited, a request with ReportLimit fails at once with the remaining time, and others wait.
func TestReportLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llm.NewGate(llm.GateConfig{}).Model(&limitedModel{})
		ask := func(report bool) (time.Duration, *llm.Error) {
			begun := time.Now()
			_, err := llm.Collect(m.Generate(t.Context(), &llm.Request{ReportLimit: report}))
			var e *llm.Error
			errors.As(err, &e)
			return time.Since(begun), e
		}
		if _, e := ask(true); e == nil || e.RetryAfter != 7*time.Second {
			t.Fatal(e)
		}
		time.Sleep(2 * time.Second)
		if took, e := ask(true); took > 0 || e == nil || e.Class != llm.RateLimited || e.RetryAfter < 4*time.Second || e.RetryAfter > 6*time.Second {
			t.Errorf("after %s: %v", took, e)
		}
		if took, e := ask(false); e != nil || took < 4*time.Second {
			t.Errorf("after %s: %v", took, e)
		}
		if took, e := ask(true); e != nil || took > 0 {
			t.Errorf("after %s: %v", took, e)
		}
	})
}
