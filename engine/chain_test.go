package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// chainConfig returns a configuration with a chain of two models, each behind its own gate.
func chainConfig(first, second *fake) engine.Config {
	c := newConfig(first)
	var chain []ponder.Model
	for _, m := range []*fake{first, second} {
		m.takes = func(*llm.Request) time.Duration { return 100 * time.Millisecond }
		chain = append(chain, ponder.Model{Model: llm.NewGate(llm.GateConfig{}).Model(m), Price: price})
	}
	c.Models = map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain}
	c.Modes[0] = wordyMode(30)
	return c
}

// While the first model of a chain is closed, the engine asks the next one at once, without
// a wait. Requests that were not sent do not count.
func TestChainSkipsClosedModels(t *testing.T) {
	const usual = 11 * time.Second // duration of the session with one model
	for name, tt := range map[string]struct {
		err   *llm.Error
		asked int32         // upper limit of requests to the first model
		takes time.Duration // upper limit
	}{
		"a wrong key":        {&llm.Error{Class: llm.Auth, Message: "key rejected"}, 5, usual},
		"no credit":          {&llm.Error{Class: llm.Payment, Message: "no credit"}, 5, usual},
		"down":               {&llm.Error{Class: llm.Unreachable, Message: "connection refused"}, 10, usual + 4*time.Second},
		"a rate limit":       {&llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: 80 * time.Second}, 1, usual},
		"a short rate limit": {&llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: 12 * time.Second}, 1, usual},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
				first.answer = func(*llm.Request) (string, error) {
					e := *tt.err
					e.Model = "a/1"
					return "", &e
				}
				eng, began := enginetest.Start(t, chainConfig(first, second)), time.Now()
				fin := runMode(t, eng, "steps", ponder.Budget{Time: 100 * time.Second})
				if fin.Status != ponder.Completed || second.begun.Load() != 31 {
					t.Errorf("ended %+v, the second model was asked %d times, want 31", fin, second.begun.Load())
				}
				if n, took := first.begun.Load(), time.Since(began); n > tt.asked || took > tt.takes {
					t.Errorf("the first model was asked %d times, and it took %v; want %d and %v at most", n, took, tt.asked, tt.takes)
				}
				if calls, made := totalSpent(eng.Events()).Calls, first.begun.Load()+second.begun.Load(); calls != int(made) {
					t.Errorf("%d calls are counted, %d were made", calls, made)
				}
			})
		})
	}
}

// The engine waits for its only model while it is closed. Requests that were not sent do
// not count.
func TestClosedModelIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fake{name: "a/1"}
		down := time.Now().Add(50 * time.Second)
		m.answer = func(req *llm.Request) (string, error) {
			if time.Now().Before(down) {
				return "", &llm.Error{Class: llm.Unreachable, Model: "a/1", Message: "connection refused"}
			}
			return req.Messages[0].Text(), nil
		}
		c := chainConfig(m, new(fake))
		c.Models[ponder.Slow], c.Models[ponder.Frontier] = c.Models[ponder.Slow][:1], c.Models[ponder.Slow][:1]
		const before = 10
		for range before { // closes the gate
			_, _ = llm.Collect(c.Models[ponder.Slow][0].Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
		}
		eng := enginetest.Start(t, c)
		runMode(t, eng, "steps", ponder.Budget{Cost: ponder.Cost{Calls: 60}})
		unsent := 0
		for _, ev := range eng.Events() {
			if b, ok := ev.Body.(ponder.CallFinished); ok && b.Unsent {
				if unsent++; b.Spent != (ponder.Cost{}) || b.Made() {
					t.Errorf("%s: %+v", ev.Cause, b)
				}
			}
		}
		if calls := totalSpent(eng.Events()).Calls; calls != int(m.begun.Load())-before || unsent == 0 {
			t.Errorf("%d calls are counted, %d were made and %d were not", calls, m.begun.Load()-before, unsent)
		}
	})
}

// failUntil returns an answer function that fails until a time.
func failUntil(model string, when time.Time, e llm.Error) func(*llm.Request) (string, error) {
	return func(*llm.Request) (string, error) {
		left := time.Until(when)
		if left <= 0 {
			return "well", nil
		}
		e := e
		if e.Model = model; e.Class == llm.RateLimited {
			e.RetryAfter = left
		}
		return "", &e
	}
}

// sendRequests makes requests to a model, so that its gate learns its state.
func sendRequests(t *testing.T, m ponder.Model, n int) {
	for range n {
		_, _ = llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
	}
}

// After the later models of a chain fail, the engine returns to a model that it skipped as
// closed.
func TestChainRevisitsSkippedModels(t *testing.T) {
	const long = 24 * time.Hour
	for name, tt := range map[string]struct {
		first, second  llm.Class
		away           time.Duration // how long the first model is closed
		knock1, knock2 int
		takes          time.Duration // upper limit
	}{
		"limited, and the next is not there":   {llm.RateLimited, llm.NotFound, 5 * time.Second, 1, 0, 7 * time.Second},
		"limited, and the next is down":        {llm.RateLimited, llm.Unreachable, 5 * time.Second, 1, 0, 7 * time.Second},
		"down, and the next is limited":        {llm.Transient, llm.RateLimited, long, 0, 1, 12 * time.Second},
		"down, and the key of the next is bad": {llm.Transient, llm.Auth, 20 * time.Second, 10, 1, 32 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
				c := chainConfig(first, second)
				c.Modes[0] = wordyMode(1)
				first.answer = failUntil("a/1", time.Now().Add(tt.away), llm.Error{Class: tt.first, Message: "not now"})
				gone := long
				if tt.second == llm.RateLimited {
					gone = 8 * time.Second
				}
				second.answer = failUntil("b/2", time.Now().Add(gone), llm.Error{Class: tt.second, Message: "gone"})
				sendRequests(t, c.Models[ponder.Slow][0], tt.knock1)
				sendRequests(t, c.Models[ponder.Slow][1], tt.knock2)
				eng, began := enginetest.Start(t, c), time.Now()
				fin := runMode(t, eng, "steps", ponder.Budget{Time: 10 * time.Minute})
				if took := time.Since(began); fin.Answer != "answer: well" || took > tt.takes {
					t.Errorf("after %v: %+v", took, fin)
				}
			})
		})
	}
}

// The failures of one model do not count against the next.
func TestFailuresCountPerModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
		c := chainConfig(first, second)
		c.Modes[0] = wordyMode(1)
		asked := 0
		first.answer = func(*llm.Request) (string, error) {
			if asked++; asked == 2 { // meanwhile other calls find that the model is down
				go sendRequests(t, c.Models[ponder.Slow][0], 10)
			}
			return "", &llm.Error{Class: llm.Transient, Model: "a/1", Message: "overloaded", RetryAfter: 5 * time.Second}
		}
		second.answer = failUntil("b/2", time.Now().Add(10300*time.Millisecond), llm.Error{Class: llm.Transient, Message: "hiccup"})
		if fin := runMode(t, enginetest.Start(t, c), "steps", ponder.Budget{}); fin.Answer != "answer: well" {
			t.Errorf("%+v", fin)
		}
	})
}

// A conclusion waits for a model if all models are closed for a moment.
func TestClosedConclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
		c := chainConfig(first, second)
		for i, m := range []*fake{first, second} {
			m.answer = failUntil(m.name, time.Now().Add(10*time.Second), llm.Error{Class: llm.RateLimited, Message: "slow down"})
			sendRequests(t, c.Models[ponder.Slow][i], 1)
		}
		if fin := runMode(t, enginetest.Start(t, c), "steps", ponder.Budget{Time: 10 * time.Millisecond}); fin.Answer != "answer: well" {
			t.Errorf("%+v", fin)
		}
	})
}
