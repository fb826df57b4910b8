package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type fakeModel struct {
	name string
	f    func(ctx context.Context, req *Request) error
}

func (m fakeModel) Name() string { return m.name }

func (m fakeModel) Generate(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		if err := m.f(ctx, req); err != nil {
			yield(Delta{}, err)
			return
		}
		if !yield(Delta{Text: "x"}, nil) {
			return
		}
		yield(Delta{Done: &Response{Message: Say(Assistant, "x"), Finish: FinishStop}}, nil)
	}
}

type fakeProvider struct{ fakeModel }

func (p fakeProvider) Model(id string) Model {
	p.fakeModel.name = "p/" + id
	return p.fakeModel
}

func (p fakeProvider) Check(context.Context, string) error { return errors.New("checked") }

func (p fakeProvider) Embed(ctx context.Context, id string, texts []string) ([][]float32, Usage, error) {
	return make([][]float32, len(texts)), Usage{Input: 1}, p.f(ctx, &Request{})
}

func answerAfter(d time.Duration, err error) func(context.Context, *Request) error {
	return func(ctx context.Context, _ *Request) error {
		if (pause{Duration: d}).sleep(ctx) != nil {
			return &Error{Class: Cancelled, Message: "cancelled", Err: ctx.Err()}
		}
		return err
	}
}

func askModel(ctx context.Context, m Model) error {
	_, err := Collect(m.Generate(ctx, &Request{}))
	return err
}

func overloadedError() error { return &Error{Class: Transient, Status: 503, Message: "overloaded"} }

func TestGateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, peak atomic.Int32
		g := NewGate(GateConfig{MaxConcurrent: 3})
		m := g.Model(fakeModel{"p/m", func(ctx context.Context, _ *Request) error {
			peak.Store(max(peak.Load(), now.Add(1)))
			defer now.Add(-1)
			return answerAfter(time.Second, nil)(ctx, nil)
		}})
		start := time.Now()
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := askModel(t.Context(), m); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if diff := cmp.Diff(GateLoad{Limit: 3, InFlight: 3, Waiting: 7}, g.Load()); diff != "" {
			t.Error(diff)
		}
		wg.Wait()
		if got := time.Since(start); got != 4*time.Second || peak.Load() != 3 {
			t.Errorf("took %v with %d at once, want 4s with 3", got, peak.Load())
		}
		if diff := cmp.Diff(GateLoad{Limit: 3}, g.Load()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestGateOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 1})
		var order []string
		m := g.Model(fakeModel{"p/m", func(_ context.Context, req *Request) error {
			order = append(order, req.System)
			time.Sleep(time.Second)
			return nil
		}})
		var wg sync.WaitGroup
		add := func(name string, background bool) {
			wg.Go(func() { Collect(m.Generate(t.Context(), &Request{System: name, Background: background})) })
			synctest.Wait()
		}
		add("first", false)
		for i := range 2 {
			add(fmt.Sprint("b", i), true)
		}
		for i := range 10 {
			add(fmt.Sprint("i", i), false)
		}
		wg.Wait()
		want := []string{"first", "i0", "i1", "i2", "i3", "b0", "i4", "i5", "i6", "i7", "b1", "i8", "i9"}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestGateCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 1})
		m := g.Model(fakeModel{"p/m", answerAfter(time.Hour, nil)})
		first, stop := context.WithCancel(t.Context())
		go askModel(first, m)
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		err := askModel(ctx, m)
		if ClassOf(err) != Cancelled || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("error = %#v after %v, want cancelled after 1s", err, time.Since(start))
		}
		if diff := cmp.Diff(GateLoad{Limit: 1, InFlight: 1}, g.Load()); diff != "" {
			t.Error(diff)
		}
		stop()
		synctest.Wait()
		if diff := cmp.Diff(GateLoad{Limit: 1}, g.Load()); diff != "" {
			t.Error(diff)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if err := askModel(done, m); ClassOf(err) != Cancelled {
			t.Errorf("error = %v, want cancelled", err)
		}
	})
}

func TestGateGivesPlaceBack(t *testing.T) {
	tests := []struct {
		name string
		use  func(m Model)
	}{
		{"reader leaves", func(m Model) {
			for range m.Generate(context.Background(), &Request{}) {
				break
			}
		}},
		{"reader panics", func(m Model) {
			defer func() { recover() }()
			for range m.Generate(context.Background(), &Request{}) {
				panic("x")
			}
		}},
		{"asks again in the loop", func(m Model) {
			for d := range m.Generate(context.Background(), &Request{}) {
				if d.Done != nil {
					askModel(context.Background(), m)
				}
			}
		}},
		{"nobody reads", func(m Model) { m.Generate(context.Background(), &Request{}) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(GateConfig{MaxConcurrent: 1})
				test.use(g.Model(fakeModel{"p/m", answerAfter(0, nil)}))
				if diff := cmp.Diff(GateLoad{Limit: 1}, g.Load()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWaitNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 1})
		m := g.Model(fakeModel{"p/m", answerAfter(time.Second, nil)})
		var log []string
		start := time.Now()
		ctx := WithWaitNotice(t.Context(), func(waits bool) { log = append(log, fmt.Sprint(waits, " ", time.Since(start))) })
		askModel(ctx, m)
		go askModel(t.Context(), m)
		synctest.Wait()
		askModel(ctx, m)
		if want := []string{"true 1s", "false 2s"}; !slices.Equal(log, want) {
			t.Errorf("notices %q, want %q", log, want)
		}
	})
}

func TestGateRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limited atomic.Bool
		hint := 5 * time.Second
		g := NewGate(GateConfig{MaxConcurrent: 8})
		p := g.Provider(fakeProvider{fakeModel{f: func(context.Context, *Request) error {
			if limited.Swap(false) {
				return &Error{Class: RateLimited, Status: 429, RetryAfter: hint, Message: "slow down"}
			}
			return nil
		}}})
		m, other := p.Model("m"), p.Model("other")

		limited.Store(true)
		if err := askModel(t.Context(), m); ClassOf(err) != RateLimited {
			t.Fatal(err)
		}
		start := time.Now()
		if err := askModel(t.Context(), other); err != nil || time.Since(start) != 0 {
			t.Errorf("other model: %v after %v", err, time.Since(start))
		}
		if err := askModel(t.Context(), m); err != nil || time.Since(start) != hint {
			t.Errorf("limited model: %v after %v, want %v", err, time.Since(start), hint)
		}
		if got := g.Load().Limit; got != 4 {
			t.Errorf("limit = %d, want 4", got)
		}

		limited.Store(true)
		hint = time.Minute
		askModel(t.Context(), m)
		time.Sleep(10 * time.Second)
		start = time.Now()
		want := &Error{Class: RateLimited, Model: "p/m", Message: "not sent: the rate limit of the model is still reached", RetryAfter: 50 * time.Second, Unsent: true}
		if diff := cmp.Diff(want, asError(askModel(t.Context(), m), "")); diff != "" || time.Since(start) != 0 {
			t.Errorf("after %v: %s", time.Since(start), diff)
		}
		g.Reset()
		if err := askModel(t.Context(), m); err != nil {
			t.Errorf("after Reset: %v", err)
		}
	})
}

// Rate-limited waiters block no other model and go when the limit ends.
func TestGateRateLimitMovesWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 1})
		start := time.Now()
		var order []string
		first := true
		p := g.Provider(fakeProvider{fakeModel{f: func(_ context.Context, req *Request) error {
			time.Sleep(time.Second)
			order = append(order, fmt.Sprint(req.System, " ", time.Since(start)))
			if first {
				first = false
				return &Error{Class: RateLimited, RetryAfter: 5 * time.Second}
			}
			return nil
		}}})
		var wg sync.WaitGroup
		add := func(model, name string) {
			wg.Go(func() { Collect(p.Model(model).Generate(t.Context(), &Request{System: name})) })
			synctest.Wait()
		}
		for i := range 4 {
			add("m", fmt.Sprint("m", i))
		}
		add("other", "other")
		wg.Wait()
		if want := []string{"m0 1s", "other 2s"}; !slices.Equal(order[:2], want) {
			t.Errorf("order = %q, want first %q", order, want)
		}
		var when []string
		for _, o := range order[2:] {
			when = append(when, o[3:])
		}
		if want := []string{"7s", "8s", "9s"}; !slices.Equal(when, want) {
			t.Errorf("order = %q, want the rest at %q", order, want)
		}
	})
}

func TestGateProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 1})
		p := g.Provider(fakeProvider{fakeModel{f: answerAfter(time.Second, nil)}})
		if got := p.Model("m").Name(); got != "p/m" {
			t.Errorf("name = %q", got)
		}
		if err := p.Check(t.Context(), "m"); err == nil || err.Error() != "checked" {
			t.Errorf("Check = %v", err)
		}
		start := time.Now()
		go askModel(t.Context(), p.Model("m"))
		synctest.Wait()
		vectors, usage, err := p.Embed(t.Context(), "e", []string{"a", "b"})
		if len(vectors) != 2 || usage.Input != 1 || err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("Embed = %v, %v, %v after %v", vectors, usage, err, time.Since(start))
		}
	})
}

// 10,000 callers, a third of whom give up, lose no slot and keep the limit.
func TestGateCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 50
		g := NewGate(GateConfig{MaxConcurrent: most, MaxWait: time.Hour})
		var now, over, calls atomic.Int32
		p := g.Provider(fakeProvider{fakeModel{f: func(ctx context.Context, _ *Request) error {
			if now.Add(1) > most {
				over.Add(1)
			}
			defer now.Add(-1)
			n := calls.Add(1)
			var err error
			switch {
			case n%101 == 0:
				err = &Error{Class: RateLimited, RetryAfter: time.Duration(n%3) * time.Second}
			case n%7 == 0:
				err = overloadedError()
			}
			return answerAfter(time.Duration(n%5)*100*time.Millisecond, err)(ctx, nil)
		}}})
		var wg sync.WaitGroup
		for i := range 4_000 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i%3 == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
					defer cancel()
				}
				m := p.Model(fmt.Sprint("m", i%4))
				Collect(m.Generate(ctx, &Request{Background: i%2 == 0}))
			})
		}
		wg.Wait()
		got := g.Load()
		if diff := cmp.Diff(GateLoad{}, got, cmpopts.IgnoreFields(GateLoad{}, "Limit")); diff != "" || got.Limit < 1 || got.Limit > most {
			t.Errorf("load = %+v", got)
		}
		if over.Load() > 0 || calls.Load() < 2_000 {
			t.Errorf("%d calls, %d over the limit", calls.Load(), over.Load())
		}
	})
}

func BenchmarkGate(b *testing.B) {
	g := NewGate(GateConfig{})
	for b.Loop() {
		p, err := g.acquireSlot(b.Context(), "p/m", false)
		if err != nil {
			b.Fatal(err)
		}
		g.releaseSlot(p, outcomeGood, nil)
	}
}

func BenchmarkGateCrowd(b *testing.B) {
	g := NewGate(GateConfig{MaxConcurrent: 64})
	b.SetParallelism(5_000) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p, err := g.acquireSlot(context.Background(), "p/m", false)
			if err != nil {
				b.Fatal(err)
			}
			g.releaseSlot(p, outcomeGood, nil)
		}
	})
}
