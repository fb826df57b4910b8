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
		"a prompt without a number":      {&roomyModel{prompt: 9000, context: 8192, refuse: none}, []int{8192}, nil},
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
			if n := min(len(tt.model.asked), len(tt.next)); n < len(tt.next) || len(tt.next) == 0 && len(tt.model.asked) > 0 || !slices.Equal(tt.model.asked[:n], tt.next) {
				t.Errorf("then asked with %v, want %v first", tt.model.asked, tt.next)
			}
			if req.MaxTokens != 8192 {
				t.Errorf("the request was changed: %d", req.MaxTokens)
			}
		})
	}
}

// TestFitSmallLimit checks that no refusal makes a model unusable, as by the limit of images.
func TestFitSmallLimit(t *testing.T) {
	for _, class := range []Class{TooLong, BadRequest} {
		m := &roomyModel{prompt: 2000, context: 1000, refuse: func(int, int, int) *Error {
			return &Error{Class: class, Message: "the limit is 5", Limits: Limits{Context: 5}}
		}}
		var w Windows
		_, _ = Collect(FitWindow(m, nil, nil, &w).Generate(t.Context(), &Request{System: strings.Repeat("x", 7200), MaxTokens: 100}))
		if got := w.Lookup(m.Name()).Context; got > 0 && got < minContext {
			t.Errorf("%s: learned a context of %d", class, got)
		}
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

// A narrowModel has so many tokens a byte, and refuses requests as a server does.
type narrowModel struct {
	rate         float64
	context      int
	countsAnswer bool // as vLLM and TGI
	refuse       func(prompt, answer, context int) Limits
	sent         int
}

func (m *narrowModel) Name() string { return "p/m" }

func (m *narrowModel) Generate(_ context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		m.sent++
		prompt, need := int(float64(req.Size())*m.rate), 1
		if m.countsAnswer {
			need = req.MaxTokens
		}
		if prompt+need > m.context {
			yield(Delta{}, &Error{Class: TooLong, Status: 400, Limits: m.refuse(prompt, req.MaxTokens, m.context)})
			return
		}
		yield(Delta{Done: &Response{Message: Say(Assistant, "so"), Usage: Usage{Input: prompt, Output: 1}}}, nil)
	}
}

// A caller that shortens its request to the room of the error soon has an answer, whatever the server
// says, and however its tokens differ from the estimate. If the server says how many tokens the prompt
// has, there is room for the answer.
func TestFitRoom(t *testing.T) {
	for name, refuse := range map[string]func(prompt, answer, context int) Limits{
		"parts":   func(p, _, c int) Limits { return Limits{Context: c, Prompt: p} },
		"total":   func(p, a, c int) Limits { return Limits{Context: c, Total: p + a} },
		"context": func(_, _, c int) Limits { return Limits{Context: c} },
		"excess":  func(p, _, c int) Limits { return Limits{Excess: p - c} },
		"nothing": func(int, int, int) Limits { return Limits{} },
	} {
		for _, context := range []int{1024, 2048, 3000, 4096, 8192, 32_768} {
			for _, rate := range []float64{1.0 / 6, 1.0 / 4.5, 1.0 / 3.6, 1.0 / 2.5, 1.0 / 1.5} {
				for _, listed := range []int{0, context} {
					countsAnswer := name == "parts" || name == "total"
					m := &narrowModel{rate: rate, context: context, refuse: refuse, countsAnswer: countsAnswer}
					var w Windows
					fit := FitWindow(m, nil, listedContext(listed), &w)
					size, tries := 400_000, 0
					for ; tries < 16; tries++ {
						_, err := Collect(fit.Generate(t.Context(), &Request{System: strings.Repeat("x", size), MaxTokens: 4096}))
						if err == nil {
							break
						}
						var e *Error
						if !errors.As(err, &e) || e.Class != TooLong || e.Room <= 0 || e.Room >= size {
							t.Fatalf("%s, context %d, rate %.2f: after %d bytes: %v, room %+v", name, context, rate, size, err, e)
						}
						size = e.Room
					}
					prompt := int(float64(size) * rate)
					hasRoom := context-prompt >= min(context/10, 1000) || name != "parts" && name != "total"
					if tries == 16 || prompt < context/16 || !hasRoom {
						t.Errorf("%s, context %d, rate %.2f, listed %d: prompt of %d tokens after %d tries (%d sent)", name, context, rate, listed, prompt, tries, m.sent)
					}
				}
			}
		}
	}
}

// A verbatim request is for the server to judge.
func TestFitVerbatim(t *testing.T) {
	m := &narrowModel{rate: 1.0 / 6, context: 4096, refuse: func(p, _, c int) Limits { return Limits{Context: c, Prompt: p} }}
	req := &Request{System: strings.Repeat("x", 20_000), MaxTokens: 4096}
	if _, err := Collect(FitWindow(m, nil, listedContext(4096), &Windows{}).Generate(t.Context(), req)); ClassOf(err) != TooLong || m.sent != 0 {
		t.Errorf("%v after %d requests, want none", err, m.sent)
	}
	req.Verbatim = true
	if _, err := Collect(FitWindow(m, nil, listedContext(4096), &Windows{}).Generate(t.Context(), req)); err != nil || m.sent != 1 {
		t.Errorf("%v after %d requests, want one", err, m.sent)
	}
}

// A wrong refusal does not make a model unavailable: no model has a context of a few tokens, and
// later requests test a context that only refusals name.
func TestFitWrongRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		named := 10
		m := &narrowModel{rate: 1.0 / 4, context: 100, refuse: func(int, int, int) Limits { return Limits{Context: named} }}
		var w Windows
		fit := FitWindow(m, nil, nil, &w)
		ask := func(what string, size, sent int, works bool) {
			t.Helper()
			m.sent = 0
			_, err := Collect(fit.Generate(t.Context(), &Request{System: strings.Repeat("x", size), MaxTokens: 500}))
			if m.sent != sent || (err == nil) != works {
				t.Errorf("%s: %d requests, %v; want %d", what, m.sent, err, sent)
			}
		}
		ask("a context of a few tokens", 4000, 1, false)
		named = 0
		ask("a short request", 400, 1, false)
		named = 600
		ask("a small context", 4000, 1, false)
		m.context = 8192
		ask("it is known", 4000, 0, false)
		time.Sleep(windowTestPause)
		ask("a test", 4000, 1, true)
		ask("it was wrong", 4000, 1, true)

		m.context = 600
		ask("it is true", 4000, 1, false)
		time.Sleep(windowTestPause)
		ask("a test", 4000, 1, false)
		ask("between tests", 4000, 0, false)
		w.addLister("p/m", listedContext(600))
		time.Sleep(windowTestPause)
		ask("the server lists it", 4000, 0, false)
	})
}

func TestWindowsLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		learned := 0
		w := Windows{Learned: func(string, Limits) { learned++ }}
		expect := func(what string, want Limits) {
			t.Helper()
			if got := w.Lookup("p/m"); got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		expect("unknown", Limits{})
		w.Suggest("p/m", 100_000)
		expect("the price table", Limits{Context: 100_000})
		w.Restore("p/m", Limits{Context: 4096, Output: 512}, time.Now())
		expect("an earlier process", Limits{Context: 4096, Output: 512})
		w.addLister("p/m", listedContext(8192))
		expect("the list replaces an earlier process", Limits{Context: 8192, Output: 512})
		w.Learn("p/m", Limits{Context: 6000})
		expect("a refusal is newer", Limits{Context: 6000, Output: 512})
		w.Restore("p/m", Limits{Context: 1}, time.Now())
		w.Learn("p/m", Limits{Context: 6000})
		expect("nothing new", Limits{Context: 6000, Output: 512})
		w.Learn("p/m", Limits{Context: 10_000})
		expect("the smaller one holds", Limits{Context: 8192, Output: 512})
		time.Sleep(LearnedLifetime + time.Second)
		expect("a day later", Limits{Context: 8192})
		w.Configure("p/m", 5000)
		expect("the user", Limits{Context: 5000})
		for i := range 3 * maxWindows {
			w.Learn(strings.Repeat("x", i), Limits{Context: minContext})
		}
		expect("many others", Limits{Context: 5000})
		if learned != 2+3*maxWindows || len(w.known) > maxWindows {
			t.Errorf("learned %d times, knows %d", learned, len(w.known))
		}
	})
}

// fitTo returns m within a context.
func fitTo(m Model, counter TokenCounter, context int) Model {
	w := &Windows{}
	w.Learn(m.Name(), Limits{Context: context})
	return FitWindow(m, counter, nil, w)
}
