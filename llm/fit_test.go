package llm

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type countingModel struct {
	fakeModel
	count func(context.Context) (int, error)

	mu     sync.Mutex // for writers only
	counts int
	asked  []*Request
}

func (m *countingModel) CountTokens(ctx context.Context, _ *Request) (int, error) {
	m.mu.Lock()
	m.counts++
	m.mu.Unlock()
	return m.count(ctx)
}

func newCountingModel(n int, err error) *countingModel {
	m := &countingModel{count: func(context.Context) (int, error) { return n, err }}
	m.fakeModel = fakeModel{"p/m", func(_ context.Context, req *Request) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.asked = append(m.asked, req)
		return nil
	}}
	return m
}

func TestFit(t *testing.T) {
	// 36,000 bytes, estimated at 10,000 tokens.
	tests := []struct {
		name      string
		context   int
		maxTokens int // tokens of the answer
		counted   int
		err       error
		counts    int
		sent      int // MaxTokens of the sent request; -1: unsent
	}{
		{"far from the limit", 20_000, 4_000, 0, nil, 0, 4_000},
		{"just far enough", 16_500, 4_000, 0, nil, 0, 4_000},
		{"near it, and fits", 16_499, 4_000, 12_499, nil, 1, 4_000},
		{"near it, with less room for the answer", 16_000, 4_000, 13_000, nil, 1, 3_000},
		{"the answer as long as the provider likes", 12_000, 0, 9_000, nil, 1, 0},
		{"hardly room", 12_000, 4_000, 11_744, nil, 1, 256},
		{"no room", 12_000, 4_000, 11_745, nil, 1, -1},
		{"no room, for any answer", 12_000, 0, 11_745, nil, 1, -1},
		{"room for a short answer", 12_000, 10, 11_990, nil, 1, 10},
		{"no room for a short answer", 12_000, 10, 11_991, nil, 1, -1},
		{"more than there is", 12_000, 4_000, 1 << 40, nil, 1, -1},
		{"surely too long is for the provider to say", 8_000, 4_000, 0, nil, 0, 4_000},
		{"cannot be counted", 12_000, 4_000, 0, errors.New("lost"), 1, 4_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newCountingModel(test.counted, test.err)
			req := &Request{System: strings.Repeat("x", 36_000), MaxTokens: test.maxTokens}
			_, err := Collect(fitTo(m, m, test.context).Generate(t.Context(), req))
			sent := -1
			if len(m.asked) == 1 {
				sent = m.asked[0].MaxTokens
			}
			if m.counts != test.counts || sent != test.sent || req.MaxTokens != test.maxTokens {
				t.Errorf("counted %d times, sent with %d, left with %d; want %d, %d, %d", m.counts, sent, req.MaxTokens, test.counts, test.sent, test.maxTokens)
			}
			if test.sent < 0 && ClassOf(err) != TooLong || test.sent >= 0 && err != nil {
				t.Errorf("error = %v", err)
			}
		})
	}
}

// Fit retries no failed count, times out slow ones, and learns.
func TestFitCounter(t *testing.T) {
	req := &Request{System: strings.Repeat("x", 36_000), MaxTokens: 4_000}
	m := newCountingModel(0, &Error{Class: NotFound})
	fit := fitTo(m, m, 12_000)
	for range 3 {
		if _, err := Collect(fit.Generate(t.Context(), req)); err != nil {
			t.Error(err)
		}
	}
	if m.counts != 1 || len(m.asked) != 3 {
		t.Errorf("counted %d times and asked %d, want 1 and 3", m.counts, len(m.asked))
	}
	synctest.Test(t, func(t *testing.T) {
		m := newCountingModel(0, nil)
		m.count = func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, &Error{Class: Cancelled}
		}
		start := time.Now()
		if _, err := Collect(fitTo(m, m, 12_000).Generate(t.Context(), req)); err != nil || time.Since(start) != fitTime || len(m.asked) != 1 {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newCountingModel(0, nil)
		m.count = func(ctx context.Context) (int, error) {
			if m.counts == 1 {
				<-ctx.Done()
				return 0, &Error{Class: Cancelled}
			}
			return 0, &Error{Class: NotFound}
		}
		fit := fitTo(m, m, 12_000)
		go Collect(fit.Generate(t.Context(), req))
		synctest.Wait()
		Collect(fit.Generate(t.Context(), req))
		time.Sleep(fitTime + time.Second)
		synctest.Wait()
		Collect(fit.Generate(t.Context(), req))
		if m.counts != 2 || len(m.asked) != 3 {
			t.Errorf("counted %d times and asked %d; want 2, one of them slow, and 3", m.counts, len(m.asked))
		}
	})
	m = newCountingModel(5_000, nil)
	fit = fitTo(m, m, 15_000)
	for range 10 {
		Collect(fit.Generate(t.Context(), req))
	}
	if m.counts != 2 {
		t.Errorf("counted %d times, want 2, for then it is known that there is room", m.counts)
	}
}

// Fit counts a held request only at its release.
func TestFitHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newCountingModel(9_000, nil)
		for _, context := range []int{12_000, 100_000} {
			m.counts, m.asked = 0, nil
			released, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := Collect(Prepare(t.Context(), fitTo(m, m, context), released, &Request{System: strings.Repeat("x", 36_000), MaxTokens: 1_000}))
				ended <- err
			}()
			synctest.Wait()
			if m.counts != 0 || len(m.asked) != 0 {
				t.Errorf("%d: counted %d times and asked %d before it was released", context, m.counts, len(m.asked))
			}
			close(released)
			if err := <-ended; err != nil || len(m.asked) != 1 || m.counts > 1 {
				t.Errorf("%d: %v, counted %d times and asked %d", context, err, m.counts, len(m.asked))
			}
		}
	})
}

// A roomyModel refuses requests whose answer does not fit, with the words of a server.
type roomyModel struct {
	prompt, context int
	refuse          func(prompt, answer, context int) *Error
	asked           []int // MaxTokens
}

func (m *roomyModel) Name() string { return "p/m" }

func (m *roomyModel) Generate(_ context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		m.asked = append(m.asked, req.MaxTokens)
		if m.prompt+req.MaxTokens > m.context {
			yield(Delta{}, m.refuse(m.prompt, req.MaxTokens, m.context))
			return
		}
		if yield(Delta{Text: "so"}, nil) {
			yield(Delta{Done: &Response{Message: Say(Assistant, "so"), Usage: Usage{Input: m.prompt, Output: 1}}}, nil)
		}
	}
}

func refuseWith(limits func(prompt, answer, context int) Limits) func(int, int, int) *Error {
	return func(prompt, answer, context int) *Error {
		return &Error{Class: TooLong, Message: "too long", Limits: limits(prompt, answer, context)}
	}
}

// The limit that a refusal names fits the next requests.
func TestFitWindow(t *testing.T) {
	parts := refuseWith(func(p, _, c int) Limits { return Limits{Context: c, Prompt: p} })
	total := refuseWith(func(p, a, c int) Limits { return Limits{Context: c, Total: p + a} })
	promptTotal := refuseWith(func(p, _, c int) Limits { return Limits{Context: c, Total: p} })
	only := refuseWith(func(_, _, c int) Limits { return Limits{Context: c} })
	none := refuseWith(func(int, int, int) Limits { return Limits{} })
	output := refuseWith(func(int, int, int) Limits { return Limits{Output: 4096} })
	for name, tt := range map[string]struct {
		model *roomyModel
		first []int // of the first request
		next  []int // of the second
	}{
		"with the parts":                 {&roomyModel{prompt: 2000, context: 8192, refuse: parts}, []int{8192, 6192}, []int{5692}},
		"with a total":                   {&roomyModel{prompt: 2000, context: 8192, refuse: total}, []int{8192, 6192}, []int{5692}},
		"with a total of the prompt":     {&roomyModel{prompt: 2000, context: 8192, refuse: promptTotal}, []int{8192, 6192}, []int{5692}},
		"with the context":               {&roomyModel{prompt: 2000, context: 8192, refuse: only}, []int{8192, 5692}, []int{5692}},
		"with a limit of the answer":     {&roomyModel{prompt: 2000, context: 6096, refuse: output}, []int{8192, 4096}, []int{4096}},
		"without a number":               {&roomyModel{prompt: 2000, context: 8192, refuse: none}, []int{8192}, []int{8192}},
		"a prompt that leaves no room":   {&roomyModel{prompt: 8000, context: 8192, refuse: parts}, []int{8192}, []int{4391}},
		"a prompt longer than the model": {&roomyModel{prompt: 9000, context: 8192, refuse: parts}, []int{8192}, []int{4391}},
	} {
		t.Run(name, func(t *testing.T) {
			var w Windows
			m := FitWindow(tt.model, nil, nil, &w)
			req := &Request{System: strings.Repeat("x", 7200), MaxTokens: 8192} // estimated at 2,000 tokens
			_, err := Collect(m.Generate(t.Context(), req))
			if fits := tt.model.asked[len(tt.model.asked)-1]+tt.model.prompt <= tt.model.context; fits != (err == nil) {
				t.Errorf("error %v after %v", err, tt.model.asked)
			}
			if !slices.Equal(tt.model.asked, tt.first) {
				t.Errorf("first asked with %v, want %v", tt.model.asked, tt.first)
			}
			tt.model.asked = nil
			other := FitWindow(tt.model, nil, nil, &w) // another user of the model
			_, _ = Collect(Prepare(t.Context(), other, closedChannel(), req))
			if len(tt.model.asked) == 0 || tt.model.asked[0] != tt.next[0] {
				t.Errorf("then asked with %v, want %v first", tt.model.asked, tt.next)
			}
			if req.MaxTokens != 8192 {
				t.Errorf("the request was changed: %d", req.MaxTokens)
			}
		})
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

type listedContext int

func (n listedContext) ListedContext() int { return int(n) }

func TestFitListed(t *testing.T) {
	m := &roomyModel{prompt: 2000, context: 8192, refuse: refuseWith(func(int, int, int) Limits { return Limits{} })}
	var w Windows
	if _, err := Collect(FitWindow(m, nil, listedContext(8192), &w).Generate(t.Context(), &Request{System: strings.Repeat("x", 7200), MaxTokens: 8192})); err != nil || len(m.asked) != 1 {
		t.Errorf("%v after %v", err, m.asked)
	}
}

// fitTo returns m within a context.
func fitTo(m Model, counter TokenCounter, context int) Model {
	w := &Windows{}
	w.Learn(m.Name(), Limits{Context: context})
	return FitWindow(m, counter, nil, w)
}
