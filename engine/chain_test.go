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

// chained has two models behind gates of their own.
func chained(first, second *fake) engine.Config {
	c := config(first)
	var chain []ponder.Model
	for _, m := range []*fake{first, second} {
		m.takes = func(*llm.Request) time.Duration { return 100 * time.Millisecond }
		chain = append(chain, ponder.Model{Model: llm.NewGate(llm.GateConfig{}).Model(m), Price: price})
	}
	c.Models = map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain}
	c.Modes[0] = wordyMode(30)
	return c
}

// While the first model of a chain is closed, the next is asked at once: nothing is waited
// for, nothing is asked of the first, and nothing that was not asked counts.
func TestChainPassesByWhoIsClosed(t *testing.T) {
	const usual = 11 * time.Second // what the session takes with one model
	for name, tt := range map[string]struct {
		err   *llm.Error
		asked int32         // requests to the first model, at most
		takes time.Duration // at most
	}{
		"a wrong key":        {&llm.Error{Class: llm.Auth, Message: "key rejected"}, 1, usual},
		"no credit":          {&llm.Error{Class: llm.Payment, Message: "no credit"}, 1, usual},
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
				mind, began := enginetest.Start(t, chained(first, second)), time.Now()
				fin := start(t, mind, "steps", ponder.Budget{Time: 100 * time.Second})
				if fin.Status != ponder.Completed || second.begun.Load() != 31 {
					t.Errorf("ended %+v, the second model was asked %d times, want 31", fin, second.begun.Load())
				}
				if n, took := first.begun.Load(), time.Since(began); n > tt.asked || took > tt.takes {
					t.Errorf("the first model was asked %d times, and it took %v; want %d and %v at most", n, took, tt.asked, tt.takes)
				}
				if calls, made := spent(mind.Events()).Calls, first.begun.Load()+second.begun.Load(); calls != int(made) {
					t.Errorf("%d calls are counted, %d were made", calls, made)
				}
			})
		})
	}
}

// What was not asked of the one model there is does not count either, and is waited for.
func TestClosedModelCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fake{name: "a/1"}
		down := time.Now().Add(50 * time.Second)
		m.answer = func(req *llm.Request) (string, error) {
			if time.Now().Before(down) {
				return "", &llm.Error{Class: llm.Unreachable, Model: "a/1", Message: "connection refused"}
			}
			return req.Messages[0].Text(), nil
		}
		c := chained(m, new(fake))
		c.Models[ponder.Slow], c.Models[ponder.Frontier] = c.Models[ponder.Slow][:1], c.Models[ponder.Slow][:1]
		const before = 10
		for range before { // and then it is closed
			_, _ = llm.Collect(c.Models[ponder.Slow][0].Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
		}
		mind := enginetest.Start(t, c)
		start(t, mind, "steps", ponder.Budget{Cost: ponder.Cost{Calls: 60}})
		unsent := 0
		for _, ev := range mind.Events() {
			if b, ok := ev.Body.(ponder.CallFinished); ok && b.Unsent {
				if unsent++; b.Spent != (ponder.Cost{}) || b.Made() {
					t.Errorf("%s: %+v", ev.Cause, b)
				}
			}
		}
		if calls := spent(mind.Events()).Calls; calls != int(m.begun.Load())-before || unsent == 0 {
			t.Errorf("%d calls are counted, %d were made and %d were not", calls, m.begun.Load()-before, unsent)
		}
	})
}

// until returns an answer that is an error until a time.
func until(model string, when time.Time, e llm.Error) func(*llm.Request) (string, error) {
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

// knock makes requests to a model, so that its gate learns how it is.
func knock(t *testing.T, m ponder.Model, n int) {
	for range n {
		_, _ = llm.Collect(m.Generate(t.Context(), &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
	}
}

// Who was passed by because it was closed for a time is asked after all if nobody behind it
// answers.
func TestChainGoesBack(t *testing.T) {
	const long = 24 * time.Hour
	for name, tt := range map[string]struct {
		first, second  llm.Class
		away           time.Duration // of the first
		knock1, knock2 int
		takes          time.Duration // at most
	}{
		"limited, and the next is not there":   {llm.RateLimited, llm.NotFound, 5 * time.Second, 1, 0, 7 * time.Second},
		"limited, and the next is down":        {llm.RateLimited, llm.Unreachable, 5 * time.Second, 1, 0, 7 * time.Second},
		"down, and the next is limited":        {llm.Transient, llm.RateLimited, long, 0, 1, 12 * time.Second},
		"down, and the key of the next is bad": {llm.Transient, llm.Auth, 20 * time.Second, 10, 1, 32 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
				c := chained(first, second)
				c.Modes[0] = wordyMode(1)
				first.answer = until("a/1", time.Now().Add(tt.away), llm.Error{Class: tt.first, Message: "not now"})
				gone := long
				if tt.second == llm.RateLimited {
					gone = 8 * time.Second
				}
				second.answer = until("b/2", time.Now().Add(gone), llm.Error{Class: tt.second, Message: "gone"})
				knock(t, c.Models[ponder.Slow][0], tt.knock1)
				knock(t, c.Models[ponder.Slow][1], tt.knock2)
				mind, began := enginetest.Start(t, c), time.Now()
				fin := start(t, mind, "steps", ponder.Budget{Time: 10 * time.Minute})
				if took := time.Since(began); fin.Answer != "answer: well" || took > tt.takes {
					t.Errorf("after %v: %+v", took, fin)
				}
			})
		})
	}
}

// What a model failed at is not counted against the next.
func TestFailuresAreOfOneModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
		c := chained(first, second)
		c.Modes[0] = wordyMode(1)
		asked := 0
		first.answer = func(*llm.Request) (string, error) {
			if asked++; asked == 2 { // meanwhile others find out that it is down
				go knock(t, c.Models[ponder.Slow][0], 10)
			}
			return "", &llm.Error{Class: llm.Transient, Model: "a/1", Message: "overloaded", RetryAfter: 5 * time.Second}
		}
		second.answer = until("b/2", time.Now().Add(10300*time.Millisecond), llm.Error{Class: llm.Transient, Message: "hiccup"})
		if fin := start(t, enginetest.Start(t, c), "steps", ponder.Budget{}); fin.Answer != "answer: well" {
			t.Errorf("%+v", fin)
		}
	})
}

// A conclusion whose models are all closed for a moment is asked for once they are not.
func TestClosedConclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &fake{name: "a/1"}, &fake{name: "b/2"}
		c := chained(first, second)
		for i, m := range []*fake{first, second} {
			m.answer = until(m.name, time.Now().Add(25*time.Second), llm.Error{Class: llm.RateLimited, Message: "slow down"})
			knock(t, c.Models[ponder.Slow][i], 1)
		}
		if fin := start(t, enginetest.Start(t, c), "steps", ponder.Budget{Time: 10 * time.Millisecond}); fin.Answer != "answer: well" {
			t.Errorf("%+v", fin)
		}
	})
}
