package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// hedgedConfig has a model behind a gate whose calls for the slow role may be hedged.
func hedgedConfig(m *fake) engine.Config {
	c := config(m)
	gated := ponder.Model{Model: llm.NewGate(llm.GateConfig{}).Model(m), Price: price}
	c.Models = map[ponder.Role][]ponder.Model{ponder.Frontier: {gated}}
	gated.Hedge = true
	c.Models[ponder.Slow] = []ponder.Model{gated}
	return c
}

// late is the step of a run that the model is slow at.
const late = "step 25"

// slowAt returns how long a model takes that is a little quicker each time, but for the
// first n times that it is asked at the late step.
func slowAt(n int) func(*llm.Request) time.Duration {
	var mu sync.Mutex
	takes := 1300 * time.Millisecond
	return func(req *llm.Request) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(req.Messages[0].Text(), late) && n > 0 {
			n--
			return time.Hour
		}
		takes -= 10 * time.Millisecond
		return takes
	}
}

// Of a call that was made twice both requests are paid for, however it ends.
func TestHedgedCallsAreBilled(t *testing.T) {
	long := func(req *llm.Request) (string, error) {
		if text := req.Messages[0].Text(); !strings.HasPrefix(text, late) {
			return text, nil
		}
		return strings.Repeat("on and ", 3000), nil
	}
	for _, tt := range []struct {
		name   string
		slow   int // requests
		answer func(*llm.Request) (string, error)
		took   time.Duration
		class  llm.Class
		finish llm.Finish
		out    int // tokens at least
	}{
		{name: "the second answers", slow: 1, took: 2320 * time.Millisecond, finish: llm.FinishStop, out: 1},
		{name: "both are silent", slow: 2, took: 8 * time.Minute, class: llm.Transient},
		{name: "it goes on and on", slow: 1, answer: long, took: 2320 * time.Millisecond, finish: llm.FinishLength, out: 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &fake{takes: slowAt(tt.slow), answer: tt.answer}
				c := hedgedConfig(m)
				c.Modes[0] = wordyMode(30)
				mind := enginetest.Start(t, c)
				fin := start(t, mind, "steps", ponder.Budget{Cost: ponder.Cost{Tokens: 1_000_000}})
				evs := mind.Events()
				requests := 0
				for _, ev := range evs {
					b, ok := ev.Body.(ponder.CallFinished)
					if !ok {
						continue
					}
					requests += b.Spent.Calls
					hedged := strings.HasPrefix(ev.Cause, "step-25#1")
					if b.Usage.Hedged != hedged {
						t.Errorf("%s: used %+v", ev.Cause, b.Usage)
					}
					if !hedged {
						continue
					}
					took := time.Duration(b.Took) * time.Millisecond
					if took != tt.took || b.Class != tt.class || b.Finish != tt.finish {
						t.Errorf("after %v %s: %s; want %v, %s: %s", took, b.Finish, b.Error, tt.took, tt.finish, tt.class)
					}
					once := (len(late) + 500) / 5 // tokens that a request has at least
					if b.Spent.Calls != 2 || b.Usage.Input < 2*once || b.Usage.Input > 5*once || b.Usage.Output < tt.out || b.Spent.Tokens < b.Usage.Total() {
						t.Errorf("used %+v, spent %+v; want both requests of some %d tokens", b.Usage, b.Spent, once)
					}
				}
				if begun := int(m.begun.Load()); begun != requests || fin.Spent != spent(evs) || fin.Spent.Calls != begun {
					t.Errorf("%d requests, %d paid for; the run spent %+v of %+v", begun, requests, fin.Spent, spent(evs))
				}
			})
		})
	}
}

// What is held covers two requests, as long as that leaves room for another call. Calls
// that are shown, and those for roles that are not hedged, are made once.
func TestHedgesAreHeldFor(t *testing.T) {
	calls := func(evs []ponder.Event) (held []int) {
		for _, ev := range evs {
			if b, ok := ev.Body.(ponder.CallStarted); ok {
				held = append(held, b.Held.Calls)
			}
		}
		return held
	}
	for _, tt := range []struct {
		name   string
		budget ponder.Cost
		want   string
	}{
		{"no limit", ponder.Cost{}, "[2 2 2 2 2 2 1]"},
		{"calls", ponder.Cost{Calls: 8}, "[2 2 2 2 2 1 1]"},
		{"few calls", ponder.Cost{Calls: 5}, "[2 2 1 1 1]"},
		{"tokens", ponder.Cost{Tokens: 4_000}, "[2 2 1 1 1 1 1]"}, // some 1,020 a call, of which it uses a tenth
		{"money", ponder.Cost{Money: 16_000}, "[2 2 1 1 1 1 1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := hedgedConfig(&fake{claims: func(_ *llm.Request, u *llm.Usage) { u.Output = 100 }})
				c.Modes[0] = stepsMode(6)
				mind := enginetest.Start(t, c)
				start(t, mind, "steps", ponder.Budget{Cost: tt.budget})
				if got := fmt.Sprint(calls(mind.Events())); got != tt.want {
					t.Errorf("held for %s requests, want %s", got, tt.want)
				}
				for _, ev := range mind.Events() {
					if b, ok := ev.Body.(ponder.CallStarted); ok {
						req, err := mind.Store.Request(t.Context(), enginetest.Thread, ev.Run, ev.Cause)
						if err != nil || req.Hedge != (b.Held.Calls == 2) {
							t.Errorf("%s: held %+v, and it may be hedged: %v (%v)", ev.Cause, b.Held, req.Hedge, err)
						}
					}
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := hedgedConfig(new(fake))
		c.Modes = append(c.Modes, oddMode(func(n int) []ponder.Action {
			if n > 0 {
				return []ponder.Action{ponder.Finish{Answer: "x"}}
			}
			req := ask("hello")
			req.Hedge = true // which is not for modes to say
			return []ponder.Action{ponder.Call{Key: "c", Role: ponder.Slow, Request: req, Shown: true}}
		}))
		mind := enginetest.Start(t, c)
		start(t, mind, "odd", ponder.Budget{})
		if held := calls(mind.Events()); fmt.Sprint(held) != "[1]" {
			t.Errorf("what is shown is held for %v requests", held)
		}
	})
}

// Budgets hold for calls that are made twice as for others.
func TestBudgetsHoldForHedges(t *testing.T) {
	for name, budget := range map[string]ponder.Budget{
		"calls":  {Cost: ponder.Cost{Calls: 60}},
		"tokens": {Cost: ponder.Cost{Tokens: 60_000}},
		"money":  {Cost: ponder.Cost{Money: 100_000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				m := &fake{
					takes: func(*llm.Request) time.Duration { // one after the other, but for the second ones
						if asked.Add(1)%7 == 0 {
							return time.Minute
						}
						return time.Second
					},
					claims: func(req *llm.Request, u *llm.Usage) {
						u.Output = 1000
						if strings.HasSuffix(req.Messages[0].Text(), "3") {
							u.Output = 1 << 40
						}
					},
				}
				c := hedgedConfig(m)
				c.Modes[0] = stepsMode(2000)
				mind := enginetest.Start(t, c)
				fin := start(t, mind, "steps", budget)
				checkBudget(t, mind.Events(), budget, fin, int(m.begun.Load()))
				for _, ev := range mind.Events() {
					if b, ok := ev.Body.(ponder.CallFinished); ok && strings.HasPrefix(ev.Cause, "step-") && !b.Usage.Hedged && b.Spent.Tokens > 2*1100 {
						t.Errorf("%s: %d tokens are believed of one request", ev.Cause, b.Spent.Tokens)
					}
				}
			})
		})
	}
}
