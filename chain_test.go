package ponder_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/pondertest"
)

// chained has two models behind gates of their own.
func chained(first, second *fake) ponder.Config {
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
				mind, began := pondertest.Start(t, chained(first, second)), time.Now()
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
		mind := pondertest.Start(t, c)
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
