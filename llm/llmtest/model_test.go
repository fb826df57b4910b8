package llmtest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/llm"
	"ponder/llm/llmtest"
)

func askRequest(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}}
}

func TestModelAnswersTheSameInAnyOrder(t *testing.T) {
	var a, b llmtest.Model
	texts := map[string]string{}
	for _, q := range []string{"Why do foxes dig?", "Why do foxes hunt?"} {
		texts[q] = collectAnswer(t, &a, askRequest(q)).Message.Text()
	}
	for _, q := range []string{"Why do foxes hunt?", "Why do foxes dig?", "Why do foxes hunt?"} {
		if got := collectAnswer(t, &b, askRequest(q)).Message.Text(); got != texts[q] || got == "" {
			t.Errorf("answer to %q is %q, was %q", q, got, texts[q])
		}
	}
	if got, want := b.Counts(), (llmtest.Counts{Calls: 3, Answers: 3, Repeated: 1, Peak: 1}); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func collectAnswer(t *testing.T, m llm.Model, req *llm.Request) *llm.Response {
	t.Helper()
	done, err := llm.Collect(m.Generate(t.Context(), req))
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return done
}

func TestModelStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := llmtest.Model{
			ID: "lab/echo", Answer: llmtest.Echo, Deltas: 3,
			Latency: llmtest.Delay{Mean: 2 * time.Second}, Between: llmtest.Delay{Mean: time.Second},
		}
		start := time.Now()
		var at []time.Duration
		var text strings.Builder
		var done *llm.Response
		for d, err := range m.Generate(t.Context(), askRequest("one two three four five six")) {
			if err != nil {
				t.Fatal(err)
			}
			at = append(at, time.Since(start))
			text.WriteString(d.Text)
			done = d.Done
		}
		if diff := cmp.Diff([]time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second, 4 * time.Second}, at); diff != "" {
			t.Errorf("times of deltas (-want +got):\n%s", diff)
		}
		want := &llm.Response{
			Message: llm.Say(llm.Assistant, "one two three four five six"), Finish: llm.FinishStop, Model: "lab/echo", Usage: llm.Usage{Input: 7, Output: 7},
		}
		if diff := cmp.Diff(want, done); diff != "" || text.String() != want.Message.Text() {
			t.Errorf("answer, streamed as %q (-want +got):\n%s", text.String(), diff)
		}
	})
}

func TestModelFailsFirst(t *testing.T) {
	m := llmtest.Model{Failures: 2, Failure: &llm.Error{Class: llm.RateLimited, Message: "wait", RetryAfter: time.Second}}
	for i := range 3 {
		for _, q := range []string{"a", "b"} {
			_, err := llm.Collect(m.Generate(t.Context(), askRequest(q)))
			var e *llm.Error
			if failed := errors.As(err, &e); failed != (i < 2) || failed && (e.Class != llm.RateLimited || e.Model != "test/model") {
				t.Errorf("try %d of %s: %v", i+1, q, err)
			}
		}
	}
	if got, want := m.Counts(), (llmtest.Counts{Calls: 6, Answers: 2, Failures: 4, Repeated: 4, Peak: 1}); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
	plain := llmtest.Model{Answer: func(*llm.Request) (llm.Message, error) { return llm.Message{}, errors.New("no idea") }}
	if _, err := llm.Collect(plain.Generate(t.Context(), askRequest("a"))); llm.ClassOf(err) != llm.Transient || !strings.Contains(err.Error(), "test/model: no idea") {
		t.Errorf("error is %v", err)
	}
}

func TestModelBehaves(t *testing.T) {
	long := strings.Repeat("a word or two. ", 40)
	tests := []struct {
		behaviour llmtest.Behaviour
		check     func(*llm.Response, error) bool
	}{
		{llmtest.Empty, func(r *llm.Response, err error) bool { return err == nil && r.Message.Text() == "" }},
		{llmtest.Overlong, func(r *llm.Response, err error) bool {
			return err == nil && len(r.Message.Text()) > 9*len(long) && r.Finish == llm.FinishStop
		}},
		{llmtest.Malformed, func(r *llm.Response, err error) bool { return err == nil && r.Message.Text() != long }},
		{llmtest.Cut, func(_ *llm.Response, err error) bool { return llm.ClassOf(err) == llm.Truncated }},
		{llmtest.Hang, func(_ *llm.Response, err error) bool {
			return llm.ClassOf(err) == llm.Cancelled && errors.Is(err, context.DeadlineExceeded)
		}},
		{llmtest.Stall, func(_ *llm.Response, err error) bool { return llm.ClassOf(err) == llm.Cancelled }},
		{llmtest.Endless, func(_ *llm.Response, err error) bool { return llm.ClassOf(err) == llm.Cancelled }},
		{llmtest.Reason, func(r *llm.Response, err error) bool {
			return err == nil && r.Message.Parts[0].Reasoning != "" && r.Usage.Reasoning > 0
		}},
		{llmtest.UsageZero, func(r *llm.Response, err error) bool { return err == nil && r.Usage == llm.Usage{} }},
		{llmtest.UsageNegative, func(r *llm.Response, err error) bool { return err == nil && r.Usage.Output < 0 }},
		{llmtest.UsageHuge, func(r *llm.Response, err error) bool { return err == nil && r.Usage.Output > 1e9 }},
		{llmtest.UsageMissing, func(r *llm.Response, err error) bool { return err == nil && r.Usage.Estimated }},
	}
	for _, test := range tests {
		t.Run(string(test.behaviour), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := llmtest.Model{Answer: llmtest.Echo, Behaviours: []llmtest.Behaviour{test.behaviour}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req := askRequest(long)
				if test.behaviour == llmtest.Overlong {
					req.MaxTokens = 20
				}
				if r, err := llm.Collect(m.Generate(ctx, req)); !test.check(r, err) {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func TestModelKeepsToMaxTokens(t *testing.T) {
	m := llmtest.Model{Answer: llmtest.Echo}
	req := askRequest("one two three four five")
	req.MaxTokens = 2
	if r := collectAnswer(t, &m, req); r.Message.Text() != "one two" || r.Finish != llm.FinishLength {
		t.Errorf("answer is %+v", r)
	}
	req.MaxTokens = 5
	if r := collectAnswer(t, &m, req); r.Finish != llm.FinishStop {
		t.Errorf("answer is %+v", r)
	}
}

func TestModelNoticesWhoStops(t *testing.T) {
	m := llmtest.Model{Behaviours: []llmtest.Behaviour{llmtest.Endless}}
	for d := range m.Generate(t.Context(), askRequest("Never stop.")) {
		if d.Text != "" {
			break
		}
	}
	if got, want := m.Counts(), (llmtest.Counts{Calls: 1, Cancelled: 1, Peak: 1}); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func TestModelFillsSchemas(t *testing.T) {
	req := askRequest("Make up a fox.")
	req.Schema = &llm.Schema{Name: "fox", JSON: []byte(`{"type":"object","properties":{"age":{"type":"integer","minimum":1,"maximum":9}},"required":["age"]}`)}
	got, err := llm.Decode[struct{ Age int }](collectAnswer(t, new(llmtest.Model), req).Message.Text(), req.Schema)
	if err != nil || got.Age < 1 || got.Age > 9 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestProvider(t *testing.T) {
	own := &llmtest.Model{Answer: llmtest.Echo}
	p := llmtest.Provider{Name: "lab", Models: map[string]*llmtest.Model{"own": own}}
	if r := collectAnswer(t, p.Model("own"), askRequest("hello")); r.Message.Text() != "hello" {
		t.Errorf("answer is %+v", r)
	}
	if _, err := llm.Collect(p.Model("none").Generate(t.Context(), askRequest("hello"))); llm.ClassOf(err) != llm.NotFound {
		t.Errorf("error is %v", err)
	}
	if err := p.Check(t.Context(), "own"); err != nil {
		t.Error(err)
	}
	if err := p.Check(t.Context(), "none"); llm.ClassOf(err) != llm.NotFound {
		t.Errorf("error is %v", err)
	}
	var free llmtest.Provider
	if m := free.Model("x"); m.Name() != "test/x" || m != free.Model("x") {
		t.Errorf("model is %v", m.Name())
	}
	vectors, used, err := free.Embed(t.Context(), "e", []string{"a fox", "a fox", "stars"})
	if err != nil || len(vectors) != 3 || used.Input != 6 || cmp.Diff(vectors[0], vectors[1]) != "" || cmp.Diff(vectors[0], vectors[2]) == "" {
		t.Errorf("%d vectors, %+v, %v", len(vectors), used, err)
	}
}
