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

// hedgedConfig has a gated model that may hedge calls of the slow role.
func hedgedConfig(m *fake) engine.Config {
	c := newConfig(m)
	gated := ponder.Model{Model: llm.NewGate(llm.GateConfig{}).Model(m), Price: price}
	c.Models = map[ponder.Role][]ponder.Model{ponder.Frontier: {gated}}
	gated.Hedge = true
	c.Models[ponder.Slow] = []ponder.Model{gated}
	return c
}

// lateStep is the step at which the model is slow.
const lateStep = "step 25"

// slowAt returns durations that decrease slightly, except for the first n requests of the
// late step.
func slowAt(n int) func(*llm.Request) time.Duration {
	var mu sync.Mutex
	takes := 1300 * time.Millisecond
	return func(req *llm.Request) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(req.Messages[0].Text(), lateStep) && n > 0 {
			n--
			return time.Hour
		}
		takes -= 10 * time.Millisecond
		return takes
	}
}

// The run pays for both requests of a hedged call, in each kind of end.
func TestHedgedCallsAreBilled(t *testing.T) {
	long := func(req *llm.Request) (string, error) {
		if text := req.Messages[0].Text(); !strings.HasPrefix(text, lateStep) {
			return text, nil
		}
		return distinctWords(4000), nil
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
				eng := enginetest.Start(t, c)
				fin := runMode(t, eng, "steps", ponder.Budget{Cost: ponder.Cost{Tokens: 1_000_000}})
				evs := eng.Events()
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
					once := (len(lateStep) + 500) / 5 // lower limit of the tokens of a request
					if b.Spent.Calls != 2 || b.Usage.Input < 2*once || b.Usage.Input > 5*once || b.Usage.Output < tt.out || b.Spent.Tokens < b.Usage.Total() {
						t.Errorf("used %+v, spent %+v; want both requests of some %d tokens", b.Usage, b.Spent, once)
					}
				}
				if begun := int(m.begun.Load()); begun != requests || fin.Spent != totalSpent(evs) || fin.Spent.Calls != begun {
					t.Errorf("%d requests, %d paid for; the run spent %+v of %+v", begun, requests, fin.Spent, totalSpent(evs))
				}
			})
		})
	}
}

// The held cost covers two requests if that leaves room for another call. The engine does
// not hedge calls that users watch, or calls of other roles.
func TestHedgesAreReserved(t *testing.T) {
	calls := func(evs []ponder.Event) (held []int) {
		for _, ev := range evs {
			if b, ok := ev.Body.(ponder.CallStarted); ok {
				held = append(held, b.Reserved.Calls)
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
		{"tokens", ponder.Cost{Tokens: 4_000}, "[2 2 1 1 1 1 1]"}, // about 1,020 per call, of which it uses a tenth
		{"money", ponder.Cost{Money: 16_000}, "[2 2 1 1 1 1 1]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := hedgedConfig(&fake{claims: func(_ *llm.Request, u *llm.Usage) { u.Output = 100 }})
				c.Modes[0] = stepsMode(6)
				eng := enginetest.Start(t, c)
				runMode(t, eng, "steps", ponder.Budget{Cost: tt.budget})
				if got := fmt.Sprint(calls(eng.Events())); got != tt.want {
					t.Errorf("held for %s requests, want %s", got, tt.want)
				}
				for _, ev := range eng.Events() {
					if b, ok := ev.Body.(ponder.CallStarted); ok {
						req, err := eng.Store.Request(t.Context(), enginetest.Thread, ev.Run, ev.Cause)
						if err != nil || req.Hedge != (b.Reserved.Calls == 2) {
							t.Errorf("%s: held %+v, and it may be hedged: %v (%v)", ev.Cause, b.Reserved, req.Hedge, err)
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
			req := newRequest("hello")
			req.Hedge = true // the engine overrides this field
			return []ponder.Action{ponder.Call{Key: "c", Role: ponder.Slow, Request: req, Shown: true}}
		}))
		eng := enginetest.Start(t, c)
		runMode(t, eng, "odd", ponder.Budget{})
		if held := calls(eng.Events()); fmt.Sprint(held) != "[1]" {
			t.Errorf("got %v reserved requests, want the shown ones only", held)
		}
	})
}

// Budgets hold for hedged calls too.
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
					takes: func(*llm.Request) time.Duration { // decreasing, except for the second requests
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
				eng := enginetest.Start(t, c)
				fin := runMode(t, eng, "steps", budget)
				checkBudget(t, eng.Events(), budget, fin, int(m.begun.Load()))
				for _, ev := range eng.Events() {
					if b, ok := ev.Body.(ponder.CallFinished); ok && strings.HasPrefix(ev.Cause, "step-") && !b.Usage.Hedged && b.Spent.Tokens > 2*1100 {
						t.Errorf("%s: %d tokens are believed of one request", ev.Cause, b.Spent.Tokens)
					}
				}
			})
		})
	}
}
