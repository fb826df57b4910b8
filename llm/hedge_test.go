package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPace(t *testing.T) {
	series := func(from, to int) (list []int) {
		for i := from; i <= to; i++ {
			list = append(list, i)
		}
		return list
	}
	for _, tt := range []struct {
		name  string
		took  []int // seconds
		late  time.Duration
		known bool
	}{
		{"none", nil, 0, false},
		{"too few", series(1, minLatencies-1), 0, false},
		{"enough", series(1, 20), 19 * time.Second, true},
		{"one is slow", append(slices.Repeat([]int{2}, 39), 90), 2 * time.Second, true},
		{"one in ten is slow", slices.Repeat([]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 30}, 4), 30 * time.Second, true},
		{"as many as are remembered", series(1, 100), 95 * time.Second, true},
		{"what is long ago is forgotten", append(series(1000, 1099), series(1, 100)...), 95 * time.Second, true},
		{"half is long ago", append(slices.Repeat([]int{60}, 100), slices.Repeat([]int{1}, 96)...), time.Second, true},
	} {
		p := new(latency)
		for _, s := range tt.took {
			p.addSample(time.Duration(s) * time.Second)
		}
		if late, known := p.countRequest(); late != tt.late || known != tt.known || len(p.samples) > maxLatencies {
			t.Errorf("%s: %v, %v, of %d; want %v, %v", tt.name, late, known, len(p.samples), tt.late, tt.known)
		}
	}
}

func TestHedgesAreFew(t *testing.T) {
	p := new(latency)
	for range 1000 {
		p.countRequest()
	}
	saved := 0
	for p.spendHedge() {
		saved++
	}
	if saved != hedgeBurst {
		t.Errorf("after a thousand requests there are %d hedges", saved)
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		wanted := rnd.Float64()
		p, all, hedged, streak := new(latency), 0, 0, 0
		for range 10_000 {
			p.countRequest()
			all++
			streak = 0
			for rnd.Float64() < wanted && p.spendHedge() {
				hedged++
				streak++
			}
			if hedged*hedgeShare > all || streak > hedgeBurst {
				t.Fatalf("seed %d: %d of %d, %d at once", seed, hedged, all, streak)
			}
		}
		if wanted > 0.2 && hedged < all/hedgeShare-hedgeBurst {
			t.Errorf("seed %d: %d of %d, want one in twenty", seed, hedged, all)
		}
	}
}

// A scriptedAttempt scripts one request.
type scriptedAttempt struct {
	first    time.Duration // before the first delta
	rest     time.Duration // from there to the end
	err      error         // instead of the first delta
	breaks   error         // instead of the end
	panics   bool          // instead of the first delta
	wedged   bool          // ignores cancellation
	mute     bool          // reports no usage when cancelled
	stops    bool          // ends without error instead of the first delta
	trips    bool          // panics after the last delta
	text     string
	reported Usage // 100 and 10 tokens if zero
}

// A scriptedModel serves its stints in order.
type scriptedModel struct {
	mu     sync.Mutex
	stints []scriptedAttempt
	log    []string
}

func (*scriptedModel) Name() string { return "p/m" }

func (m *scriptedModel) Generate(ctx context.Context, _ *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		m.mu.Lock()
		i := len(m.log)
		s := m.stints[min(i, len(m.stints)-1)]
		m.log = append(m.log, "asked")
		m.mu.Unlock()
		became := func(what string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.log[i] = what
		}
		wait := func(d time.Duration) bool {
			if s.wedged {
				time.Sleep(d)
				return true
			}
			if (pause{Duration: d}).sleep(ctx) == nil {
				return true
			}
			became("cancelled")
			e := &Error{Class: Cancelled, Message: "cancelled", Usage: Usage{Input: 100, Estimated: true}}
			if s.mute {
				e.Usage = Usage{}
			}
			yield(Delta{}, e)
			return false
		}
		if !wait(s.first) {
			return
		}
		became("ended")
		switch {
		case s.panics:
			panic("oh")
		case s.stops:
			return
		case s.err != nil:
			yield(Delta{}, s.err)
			return
		}
		if !yield(Delta{Text: s.text}, nil) || !wait(s.rest) {
			return
		}
		if s.breaks != nil {
			yield(Delta{}, s.breaks)
			return
		}
		used := s.reported
		if used == (Usage{}) {
			used = Usage{Input: 100, Output: 10}
		}
		yield(Delta{Done: &Response{Message: Say(Assistant, s.text), Finish: FinishStop, Usage: used}}, nil)
		if s.trips {
			panic("oh")
		}
	}
}

// warmLatencies teaches the gate a latency of a second.
func warmLatencies(t *testing.T, g *Gate, m Model, n int) {
	t.Helper()
	for range n {
		if _, err := Collect(g.Model(m).Generate(t.Context(), &Request{Hedge: true})); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *scriptedModel) attemptLog(from int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.log[from:], " ")
}

// usualAttempts returns n stints of a second, then others.
func usualAttempts(n int, then ...scriptedAttempt) []scriptedAttempt {
	return append(slices.Repeat([]scriptedAttempt{{first: time.Second}}, n), then...)
}

func TestHedge(t *testing.T) {
	const sec, ms = time.Second, time.Millisecond
	busy := &Error{Class: RateLimited, Status: 429, Message: "busy"}
	down := func(used int) error { return &Error{Class: Transient, Message: "down", Usage: Usage{Input: used}} }
	for _, tt := range []struct {
		name   string
		first  scriptedAttempt
		second scriptedAttempt
		until  time.Duration // of the caller
		text   string
		class  Class
		took   time.Duration
		usage  Usage
		log    string
		noted  []time.Duration // recorded latencies
	}{
		{
			name: "in time", first: scriptedAttempt{first: 900 * ms, text: "one"},
			text: "one", took: 900 * ms, usage: Usage{Input: 100, Output: 10}, log: "ended", noted: []time.Duration{900 * ms},
		}, {
			name: "slow to begin", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2 * sec, usage: Usage{Input: 200, Output: 10, Estimated: true, Hedged: true}, log: "cancelled ended", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "slow to end", first: scriptedAttempt{first: sec / 2, rest: time.Hour, text: "one"},
			text: "one", took: time.Hour + sec/2, usage: Usage{Input: 100, Output: 10}, log: "ended", noted: []time.Duration{sec / 2},
		}, {
			name: "the first is sooner all the same", first: scriptedAttempt{first: 1500 * ms, rest: 2 * sec, text: "one"}, second: scriptedAttempt{first: sec},
			text: "one", took: 3500 * ms, usage: Usage{Input: 200, Output: 10, Estimated: true, Hedged: true}, log: "ended cancelled", noted: []time.Duration{1500 * ms},
		}, {
			name: "a failure in time", first: scriptedAttempt{first: sec / 2, err: down(0)},
			class: Transient, took: sec / 2, log: "ended",
		}, {
			name: "the first fails", first: scriptedAttempt{first: 1500 * ms, err: down(70)}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2 * sec, usage: Usage{Input: 170, Output: 10, Hedged: true}, log: "ended ended", noted: []time.Duration{sec},
		}, {
			name: "the second fails", first: scriptedAttempt{first: 3 * sec, text: "one"}, second: scriptedAttempt{first: 200 * ms, err: busy},
			text: "one", took: 3 * sec, usage: Usage{Input: 100, Output: 10, Hedged: true}, log: "ended ended", noted: []time.Duration{3 * sec},
		}, {
			name: "both fail", first: scriptedAttempt{first: 3 * sec, err: busy}, second: scriptedAttempt{first: sec, err: down(70)},
			class: RateLimited, took: 3 * sec, usage: Usage{Input: 70, Hedged: true}, log: "ended ended",
		}, {
			name: "what was answered first breaks off", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: sec, text: "tw", breaks: &Error{Class: Truncated, Usage: Usage{Input: 90, Output: 1}}},
			class: Truncated, took: 2 * sec, usage: Usage{Input: 190, Output: 1, Estimated: true, Hedged: true}, log: "cancelled ended", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "nobody waits any more", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: time.Hour}, until: 5 * sec,
			class: Cancelled, took: 5 * sec, usage: Usage{Input: 200, Estimated: true, Hedged: true}, log: "cancelled cancelled",
		}, {
			name: "nobody waits for the end", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: sec, rest: time.Hour, text: "tw"}, until: 5 * sec,
			class: Cancelled, took: 5 * sec, usage: Usage{Input: 200, Estimated: true, Hedged: true}, log: "cancelled cancelled", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "the first does not let go", first: scriptedAttempt{first: time.Hour, wedged: true}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2*sec + loserTime, usage: Usage{Input: 120, Output: 10, Estimated: true, Hedged: true}, log: "asked ended", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "the first panics", first: scriptedAttempt{first: 1500 * ms, panics: true}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2 * sec, usage: Usage{Input: 120, Output: 10, Estimated: true, Hedged: true}, log: "ended ended", noted: []time.Duration{sec},
		}, {
			name: "the second panics when all is said", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: sec, text: "two", trips: true},
			text: "two", took: 2 * sec, usage: Usage{Input: 200, Output: 10, Estimated: true, Hedged: true}, log: "cancelled ended", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "the first just stops", first: scriptedAttempt{first: 1500 * ms, stops: true}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2 * sec, usage: Usage{Input: 120, Output: 10, Estimated: true, Hedged: true}, log: "ended ended", noted: []time.Duration{sec},
		}, {
			name: "it just stops", first: scriptedAttempt{first: sec / 2, stops: true},
			class: Truncated, took: sec / 2, log: "ended",
		}, {
			name: "what was cancelled does not say what it used", first: scriptedAttempt{first: time.Hour, mute: true}, second: scriptedAttempt{first: sec, text: "two"},
			text: "two", took: 2 * sec, usage: Usage{Input: 120, Output: 10, Estimated: true, Hedged: true}, log: "cancelled ended", noted: []time.Duration{2 * sec, sec},
		}, {
			name: "it panics", first: scriptedAttempt{first: sec / 2, panics: true},
			class: Malformed, took: sec / 2, usage: Usage{Input: 20, Estimated: true}, log: "ended",
		}, {
			name: "what both cost is told", first: scriptedAttempt{first: 1500 * ms, err: &Error{Class: Transient, Usage: Usage{Input: 70, Cost: new(int64(7))}}},
			second: scriptedAttempt{first: sec, text: "two", reported: Usage{Input: 100, Output: 10, Cost: new(int64(50))}},
			text:   "two", took: 2 * sec, usage: Usage{Input: 170, Output: 10, Cost: new(int64(57)), Hedged: true}, log: "ended ended", noted: []time.Duration{sec},
		}, {
			name: "what it costs is told", first: scriptedAttempt{first: time.Hour}, second: scriptedAttempt{first: sec, text: "two", reported: Usage{Input: 100, Output: 100, Cost: new(int64(1001))}},
			text: "two", took: 2 * sec, usage: Usage{Input: 200, Output: 100, Cost: new(int64(1502)), Estimated: true, Hedged: true}, log: "cancelled ended", noted: []time.Duration{2 * sec, sec},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &scriptedModel{stints: usualAttempts(20, tt.first, tt.second)}
				g := NewGate(GateConfig{})
				warmLatencies(t, g, m, 20)
				ctx := t.Context()
				if tt.until > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.until)
					defer cancel()
				}
				begun := time.Now()
				text, used, err := readStream(g.Model(m).Generate(ctx, &Request{Hedge: true, System: strings.Repeat("word ", 14) + "no"}))
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if diff := cmp.Diff(tt.usage, used); diff != "" {
					t.Errorf("usage: %s", diff)
				}
				if tt.class == "" && (err != nil || text != tt.text) || tt.class != "" && (err == nil || ClassOf(err) != tt.class) {
					t.Errorf("answered %q, %v; want %q, %s", text, err, tt.text, tt.class)
				}
				if log := m.attemptLog(20); log != tt.log {
					t.Errorf("the requests: %s, want %s", log, tt.log)
				}
				if diff := cmp.Diff(tt.noted, g.latencyFor("p/m").samples[20:], cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("noted: %s", diff)
				}
				time.Sleep(2 * time.Hour)
				if load := g.Load(); load.InFlight != 0 {
					t.Errorf("%d are in flight at the end", load.InFlight)
				}
			})
		})
	}
}

// readStream checks that Hedged is consistent.
func readStream(stream iter.Seq2[Delta, error]) (text string, used Usage, err error) {
	hedged := false
	for d, err := range stream {
		var e *Error
		switch {
		case errors.As(err, &e):
			used = e.Usage
		case d.Done != nil:
			used = d.Done.Usage
		default:
			text, hedged = text+d.Text, d.Hedged
		}
		if err != nil || d.Done != nil {
			if text != "" && hedged != used.Hedged {
				err = errors.Join(err, fmt.Errorf("deltas say that hedged is %v, their end %v", hedged, used.Hedged))
			}
			return text, used, err
		}
	}
	return text, used, errors.New("no end")
}

func TestNoHedge(t *testing.T) {
	for _, tt := range []struct {
		name  string
		warm  int
		req   Request
		limit int
		spoil func(t *testing.T, g *Gate)
		asked int
	}{
		{name: "it may", warm: 20, req: Request{Hedge: true}, limit: 2, asked: 2},
		{name: "nobody said that it may", warm: 20, limit: 2, asked: 1},
		{name: "too little is known", warm: 18, req: Request{Hedge: true}, limit: 2, asked: 1},
		{name: "no place", warm: 20, req: Request{Hedge: true}, limit: 1, asked: 1},
		{name: "the bucket is empty", warm: 20, req: Request{Hedge: true}, limit: 2, asked: 1, spoil: func(_ *testing.T, g *Gate) { g.latencies["p/m"].spendHedge() }},
		{name: "the breaker is open", warm: 20, req: Request{Hedge: true}, limit: 2, asked: 1, spoil: func(_ *testing.T, g *Gate) {
			g.breakers["p/m"] = breaker{state: breakerOpen, until: time.Now(), cause: &Error{Class: Transient}}
		}},
		{name: "a rate limit", warm: 20, req: Request{Hedge: true}, limit: 2, asked: 1, spoil: func(_ *testing.T, g *Gate) {
			b := g.breakers["p/m"]
			b.limited = time.Now().Add(time.Minute)
			g.breakers["p/m"] = b
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &scriptedModel{stints: usualAttempts(tt.warm, scriptedAttempt{first: time.Minute}, scriptedAttempt{first: time.Second})}
				g := NewGate(GateConfig{MaxConcurrent: tt.limit})
				warmLatencies(t, g, m, tt.warm)
				if tt.spoil != nil { // in flight
					time.AfterFunc(500*time.Millisecond, func() {
						g.mu.Lock()
						defer g.mu.Unlock()
						tt.spoil(t, g)
					})
				}
				if _, err := Collect(g.Model(m).Generate(t.Context(), &tt.req)); err != nil {
					t.Error(err)
				}
				if asked := len(m.log) - tt.warm; asked != tt.asked {
					t.Errorf("asked %d times, want %d", asked, tt.asked)
				}
				if load := g.Load(); load.InFlight != 0 {
					t.Errorf("%d are in flight at the end", load.InFlight)
				}
			})
		})
	}
}

func TestHedgeOfHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &scriptedModel{stints: usualAttempts(20, scriptedAttempt{first: time.Hour}, scriptedAttempt{first: time.Second})}
		g := NewGate(GateConfig{})
		warmLatencies(t, g, m, 20)
		released := make(chan struct{})
		time.AfterFunc(time.Minute, func() { close(released) })
		begun := time.Now()
		if _, err := Collect(Prepare(t.Context(), g.Model(m), released, &Request{Hedge: true})); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != time.Minute+2*time.Second {
			t.Errorf("it took %v", took)
		}
		if late, _ := g.latencyFor("p/m").countRequest(); late != time.Second {
			t.Errorf("the hedge delay is %v, want 1s", late)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, used, err := readStream(Prepare(ctx, g.Model(m), make(chan struct{}), &Request{Hedge: true}))
		if ClassOf(err) != Cancelled || used != (Usage{}) || len(m.log) != 22 {
			t.Errorf("unreleased request: %v, used %+v, %d requests", err, used, len(m.log))
		}
	})
}

// If one request in ten hangs, one in twenty is hedged.
func TestHedgesInAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 2000
		var mu sync.Mutex
		rnd, asked := rand.New(rand.NewPCG(1, 2)), 0
		m := fakeModel{"p/m", func(ctx context.Context, _ *Request) error {
			mu.Lock()
			asked++
			d := time.Duration(1+rnd.IntN(10)) * time.Second
			if rnd.IntN(10) == 0 {
				d *= 10
			}
			mu.Unlock()
			return answerAfter(d, nil)(ctx, nil)
		}}
		g := NewGate(GateConfig{MaxConcurrent: 40})
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				if _, err := Collect(g.Model(m).Generate(t.Context(), &Request{Hedge: true})); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(1800 * time.Millisecond)
		}
		wg.Wait()
		if twice := asked - calls; twice < calls/50 || twice > calls/20 {
			t.Errorf("%d of %d were made twice", twice, calls)
		}
	})
}
