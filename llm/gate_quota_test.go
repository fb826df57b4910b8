package llm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestQuota(t *testing.T) {
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	steady := quota{bound: true, refillAt: at(5), interval: 2 * time.Second}
	tests := []struct {
		name string
		got  quota
		want quota
	}{
		{"without a bound", quota{}.refillTo(at(9)), quota{}},
		{"before there is more", quota{bound: true, left: 1, refillAt: at(5)}.refillTo(at(4)), quota{bound: true, left: 1, refillAt: at(5)}},
		{"then there is no bound", quota{bound: true, refillAt: at(5), unanswered: 2}.refillTo(at(5)), quota{unanswered: 2}},
		{"or one more", steady.refillTo(at(5)), quota{bound: true, left: 1, refillAt: at(7), interval: 2 * time.Second}},
		{"and one each time", steady.refillTo(at(10)), quota{bound: true, left: 3, refillAt: at(11), interval: 2 * time.Second}},
		{"told", quota{unanswered: 2}.applyAllowance(Allowance{Requests: 5, After: time.Second}, t0), quota{bound: true, left: 3, refillAt: at(1), unanswered: 2}},
		{"told of fewer than are under way", quota{unanswered: 2}.applyAllowance(Allowance{Requests: 1, After: time.Second, Steady: true}, t0),
			quota{bound: true, refillAt: at(1), interval: time.Second, unanswered: 2}},
		{"told nonsense", quota{}.applyAllowance(Allowance{Requests: -1, After: -1}, t0), quota{bound: true, refillAt: t0.Add(time.Millisecond)}},
		{"sent", quota{bound: true, left: 1, refillAt: at(5)}.countSent().countSent(), quota{bound: true, refillAt: at(5), unanswered: 2}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.got, cmp.AllowUnexported(quota{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type requestLog struct {
	mu    sync.Mutex
	start time.Time
	lines []string
}

func (l *requestLog) logRequest(req *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(req.System, " ", time.Since(l.start)))
}

// newAllowanceModel answers after 2 seconds and reports its allowance after one.
func newAllowanceModel(l *requestLog, allow map[string]Allowance) fakeModel {
	return fakeModel{"p/m", func(ctx context.Context, req *Request) error {
		l.logRequest(req)
		time.Sleep(time.Second)
		if a, ok := allow[req.System]; ok {
			AllowanceOf(ctx)(a)
		}
		time.Sleep(time.Second)
		return nil
	}}
}

func TestGateAllowance(t *testing.T) {
	type request struct {
		after      time.Duration // since the previous one
		name       string
		background bool
	}
	const s = time.Second
	tests := []struct {
		name  string
		cfg   GateConfig
		allow map[string]Allowance
		ask   []request
		want  []string
	}{
		{"nothing left", GateConfig{}, map[string]Allowance{"a": {After: 6 * s}},
			[]request{{0, "a", false}, {3 * s, "b", false}, {0, "c", false}}, []string{"a 0s", "b 7s", "c 7s"}},
		{"for longer than is waited", GateConfig{MaxWait: 4 * s}, map[string]Allowance{"a": {After: time.Hour}},
			[]request{{0, "a", false}, {3 * s, "b", false}, {s, "c", true}}, []string{"a 0s", "b 7s", "c 8s"}},
		{"not waited for", GateConfig{MaxWait: -1}, map[string]Allowance{"a": {After: 6 * s}},
			[]request{{0, "a", false}, {3 * s, "b", false}}, []string{"a 0s", "b 3s"}},
		{"few left, and no more are sent", GateConfig{}, map[string]Allowance{"a": {Requests: 2, After: 6 * s}},
			[]request{{0, "a", false}, {3 * s, "b", false}, {0, "c", false}, {0, "d", false}, {0, "e", false}},
			[]string{"a 0s", "b 3s", "c 3s", "d 7s", "e 7s"}},
		{"those under way may not be counted yet", GateConfig{}, map[string]Allowance{"a": {Requests: 2, After: 6 * s}},
			[]request{{0, "a", false}, {500 * time.Millisecond, "b", false}, {s, "c", false}, {0, "d", false}},
			[]string{"a 0s", "b 500ms", "c 1.5s", "d 7s"}},
		{"a later answer knows better", GateConfig{}, map[string]Allowance{"a": {After: 9 * s}, "b": {Requests: 9, After: 9 * s}},
			[]request{{0, "a", false}, {500 * time.Millisecond, "b", false}, {700 * time.Millisecond, "c", false}},
			[]string{"a 0s", "b 500ms", "c 1.5s"}},
		{"one at a time", GateConfig{}, map[string]Allowance{"a": {After: 2 * s, Steady: true}},
			[]request{{0, "a", false}, {2 * s, "b", false}, {0, "c", false}, {0, "d", false}}, []string{"a 0s", "b 3s", "c 5s", "d 7s"}},
		{"interactive first", GateConfig{}, map[string]Allowance{"a": {After: 2 * s, Steady: true}},
			[]request{{0, "a", false}, {1500 * time.Millisecond, "b", true}, {0, "c", true}, {0, "d", false}}, []string{"a 0s", "d 3s", "b 5s", "c 7s"}},
		{"a place is waited for as well", GateConfig{MaxConcurrent: 1}, map[string]Allowance{"a": {After: 3 * s}},
			[]request{{0, "a", false}, {s / 2, "b", true}, {s / 2, "c", false}, {0, "d", false}}, []string{"a 0s", "c 4s", "d 6s", "b 8s"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &requestLog{start: time.Now()}
				g := NewGate(test.cfg)
				m := g.Model(newAllowanceModel(l, test.allow))
				var wg sync.WaitGroup
				for _, r := range test.ask {
					time.Sleep(r.after)
					wg.Go(func() {
						if _, err := Collect(m.Generate(t.Context(), &Request{System: r.name, Background: r.background})); err != nil {
							t.Errorf("%s: %v", r.name, err)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				slices.Sort(l.lines) // simultaneous requests come in any order
				slices.Sort(test.want)
				if diff := cmp.Diff(test.want, l.lines); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if got, want := g.Load(), (GateLoad{Limit: min(g.cfg.MaxConcurrent, firstLimit)}); got != want {
					t.Errorf("load = %+v, want %+v", got, want)
				}
			})
		})
	}
}

// Models are independent. Waiters can be cancelled, fail with the model, and go at Reset.
func TestGateAllowanceWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxWait: time.Hour, MinRequests: 1})
		p := g.Provider(fakeProvider{fakeModel{f: func(ctx context.Context, req *Request) error {
			if req.System == "slow" {
				time.Sleep(30 * time.Second)
				return overloadedError()
			}
			AllowanceOf(ctx)(Allowance{After: time.Minute})
			return nil
		}}})
		m, start := p.Model("m"), time.Now()
		var slow sync.WaitGroup
		slow.Go(func() { Collect(m.Generate(t.Context(), &Request{System: "slow"})) })
		synctest.Wait()
		if err := askModel(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := askModel(t.Context(), p.Model("other")); err != nil || time.Since(start) != 0 {
			t.Errorf("another model: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := askModel(ctx, m); ClassOf(err) != Cancelled || time.Since(start) != time.Second {
			t.Errorf("gave up: %v after %v", err, time.Since(start))
		}
		if err := askModel(t.Context(), m); ClassOf(err) != Transient || time.Since(start) != 30*time.Second {
			t.Errorf("when the model fails: %v after %v", err, time.Since(start))
		}
		slow.Wait()
		g.Reset()
		var wg sync.WaitGroup
		wg.Go(func() { askModel(t.Context(), m) })
		wg.Wait()
		wg.Go(func() {
			if err := askModel(t.Context(), m); err != nil || time.Since(start) != 40*time.Second {
				t.Errorf("after Reset: %v after %v", err, time.Since(start))
			}
		})
		time.Sleep(10 * time.Second)
		g.Reset()
		wg.Wait()
		if got := g.Load(); got.InFlight != 0 || got.Limit != 16 {
			t.Errorf("load = %+v", got)
		}
	})
}

// Many requests with small allowances lose no slot.
func TestGateAllowanceCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MaxConcurrent: 20, MaxWait: time.Minute})
		var mu sync.Mutex
		n := 0
		p := g.Provider(fakeProvider{fakeModel{f: func(ctx context.Context, _ *Request) error {
			mu.Lock()
			n++
			k := n
			mu.Unlock()
			time.Sleep(time.Duration(k%7) * 100 * time.Millisecond)
			if k%3 > 0 {
				AllowanceOf(ctx)(Allowance{Requests: k % 5, After: time.Duration(k%11) * time.Second, Steady: k%2 == 0})
			}
			return answerAfter(time.Duration(k%5)*100*time.Millisecond, nil)(ctx, nil)
		}}})
		var wg sync.WaitGroup
		for i := range 3_000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%100+1)*time.Second)
				defer cancel()
				Collect(p.Model(fmt.Sprint("m", i%4)).Generate(ctx, &Request{Background: i%2 == 0}))
			})
		}
		wg.Wait()
		if got := g.Load(); got.InFlight != 0 || got.Waiting != 0 || got.Limit < 1 || got.Limit > 20 || n < 300 {
			t.Errorf("load = %+v after %d requests", got, n)
		}
		for model, s := range g.quotas {
			if !s.isIdle() {
				t.Errorf("%s: %d unsaid, %d and %d waiting", model, s.unanswered, len(s.waiting[0]), len(s.waiting[1]))
			}
		}
	})
}

// A leaving request passes its quota on.
func TestGateAllowanceAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &requestLog{start: time.Now()}
		p := NewGate(GateConfig{MaxConcurrent: 2, MaxWait: time.Hour}).Provider(fakeProvider{fakeModel{f: func(ctx context.Context, req *Request) error {
			l.logRequest(req)
			if req.System == "a" {
				AllowanceOf(ctx)(Allowance{After: 30 * time.Minute})
				time.Sleep(4 * time.Second)
				AllowanceOf(ctx)(Allowance{Requests: 1, After: 30 * time.Minute})
			}
			time.Sleep(4 * time.Second)
			return nil
		}}})
		var wg sync.WaitGroup
		from := func(ctx context.Context, model, name string) {
			wg.Go(func() { Collect(p.Model(model).Generate(ctx, &Request{System: name})) })
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		from(t.Context(), "m", "a")
		from(ctx, "m", "b")
		from(t.Context(), "m", "c")
		time.Sleep(2 * time.Second)
		from(t.Context(), "other", "x")
		time.Sleep(7 * time.Second)
		from(t.Context(), "m", "d")
		wg.Wait()
		if diff := cmp.Diff([]string{"a 0s", "x 2s", "c 6s", "d 30m4s"}, l.lines); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

func TestGateResetAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, limited := &requestLog{start: time.Now()}, 3
		g := NewGate(GateConfig{MaxWait: time.Hour})
		m := g.Model(fakeModel{"p/m", func(ctx context.Context, req *Request) error {
			l.logRequest(req)
			AllowanceOf(ctx)(Allowance{After: time.Second, Steady: true})
			if limited--; limited >= 0 {
				return &Error{Class: RateLimited}
			}
			return nil
		}})
		for _, name := range []string{"a", "b", "c"} {
			Collect(m.Generate(t.Context(), &Request{System: name}))
		}
		g.Reset()
		for _, name := range []string{"d", "e"} {
			Collect(m.Generate(t.Context(), &Request{System: name}))
		}
		if diff := cmp.Diff([]string{"a 0s", "b 1s", "c 3s", "d 3s", "e 4s"}, l.lines); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
	})
}

// New requests do not overtake waiting ones at a refill.
func TestGateAllowanceOrder(t *testing.T) {
	for range 20 { // simultaneous events may come in any order
		synctest.Test(t, func(t *testing.T) {
			l := &requestLog{start: time.Now()}
			m := NewGate(GateConfig{MaxWait: time.Hour}).Model(fakeModel{"p/m", func(ctx context.Context, req *Request) error {
				l.logRequest(req)
				if req.System == "a" {
					AllowanceOf(ctx)(Allowance{After: 2 * time.Second, Steady: true})
				}
				return nil
			}})
			var wg sync.WaitGroup
			for after, name := range []string{"a", "b", "c", "", "d", "", "e", "", "f", "", "g"} {
				if name != "" {
					wg.Go(func() {
						time.Sleep(time.Duration(after) * time.Second)
						Collect(m.Generate(t.Context(), &Request{System: name}))
					})
				}
			}
			wg.Wait()
			if diff := cmp.Diff([]string{"a 0s", "b 2s", "c 4s", "d 6s", "e 8s", "f 10s", "g 12s"}, l.lines); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}
