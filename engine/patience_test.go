package engine_test

import (
	"context"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
)

// A slowWriter is a model that writes words at intervals.
type slowWriter struct {
	words int
	every time.Duration
}

func (slowWriter) Name() string { return "local/slow" }

func (d slowWriter) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for range d.words {
			select {
			case <-time.After(d.every):
			case <-ctx.Done():
				yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled"})
				return
			}
			if !yield(llm.Delta{Text: "word "}, nil) {
				return
			}
		}
		text := strings.Repeat("word ", d.words)
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, text), Finish: llm.FinishStop}}, nil)
	}
}

// TestSlowModels checks that an answer may take any time while the model makes progress.
func TestSlowModels(t *testing.T) {
	for name, tt := range map[string]struct {
		model slowWriter
		fails string
	}{
		"forty minutes":    {slowWriter{480, 5 * time.Second}, ""},
		"a word a minute":  {slowWriter{600, time.Minute}, "sent too little output in"},
		"nothing for long": {slowWriter{2, 9 * time.Minute}, "sent no output for"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(nil)
				c.Modes[0] = stepsMode(1)
				chain := []ponder.Model{{Model: tt.model, Price: price}}
				c.Models = map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain}
				eng := enginetest.Start(t, c)
				runMode(t, eng, "steps", ponder.Budget{})
				for _, f := range finishedCalls(eng) {
					if (f.Error != "") != (tt.fails != "") || !strings.Contains(f.Error, tt.fails) {
						t.Errorf("after %dms: %q, want %q", f.Took, f.Error, tt.fails)
					}
				}
			})
		})
	}
}

// A call that waits for its turn at a busy server is not silent.
func TestWaitIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := llm.NewGate(llm.GateConfig{MaxConcurrent: 1}).Model(slowWriter{480, 5 * time.Second})
		go func() { _, _ = llm.Collect(model.Generate(t.Context(), &llm.Request{})) }()
		synctest.Wait()
		c := newConfig(nil)
		c.Modes[0] = stepsMode(1)
		chain := []ponder.Model{{Model: model, Price: price}}
		c.Models = map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain}
		eng := enginetest.Start(t, c)
		began := time.Now()
		runMode(t, eng, "steps", ponder.Budget{})
		calls := finishedCalls(eng)
		if took := time.Since(began); took < 40*time.Minute || len(calls) == 0 || calls[0].Error != "" {
			t.Errorf("after %v: %+v", took, calls)
		}
	})
}

func finishedCalls(eng *enginetest.Engine) (calls []ponder.CallFinished) {
	for _, ev := range eng.Events() {
		if f, ok := ev.Body.(ponder.CallFinished); ok {
			calls = append(calls, f)
		}
	}
	return calls
}

// TestStallTimeout checks that the engine asks the next model of the chain after ten
// seconds in a chat, and after a minute in a session.
func TestStallTimeout(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  string // that asks the role
		role  ponder.Role
		retry llm.Policy
		tries int // requests to the first model for an answer
	}{
		{"fast", "panel", ponder.Fast, llm.Policy{}, 1},
		{"slow", "steps", ponder.Slow, llm.Policy{}, 3},
		{"fast, by one's own policy", "panel", ponder.Fast, llm.Policy{Patience: time.Minute}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limited := &fake{name: "a/1", answer: func(*llm.Request) (string, error) {
					return "", &llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: 30 * time.Second}
				}}
				c := newConfig(&fake{name: "c/3"})
				c.Retry = tt.retry
				c.Models[tt.role] = []ponder.Model{{Model: limited, Price: price}, {Model: &fake{name: "b/2"}, Price: price}}
				eng := enginetest.Start(t, c)
				runMode(t, eng, tt.mode, ponder.Budget{})
				tries := map[string]int{}
				for _, f := range finishedCalls(eng) {
					tries[f.Model]++
				}
				if n := tries["b/2"]; n == 0 || tries["a/1"] != tt.tries*n {
					t.Errorf("the models were asked %v times, want the first %d times as often as the second", tries, tt.tries)
				}
			})
		})
	}
}

// TestNotBefore checks that a conclusion waits once for a model that opens soon. Otherwise
// the mode learns when the model opens.
func TestNotBefore(t *testing.T) {
	for name, tt := range map[string]struct {
		back   time.Duration // after the time limit
		hint   time.Duration // from the model; zero: the exact wait
		answer string
		waited time.Duration
	}{
		"within the patience": {back: 10 * time.Second, answer: "answer: final", waited: 11 * time.Second},
		"beyond the time":     {back: 20 * time.Second, answer: "answer: fake/model: down"},
		"after it":            {back: 50 * time.Second, answer: "answer: fake/model: down"},
		"and still not":       {back: time.Hour, hint: 10 * time.Second, answer: "answer: fake/model: down", waited: 11 * time.Second},
		"while another asks":  {back: 3500 * time.Millisecond, hint: time.Second, answer: "answer: final", waited: 5 * time.Second},
		"it does not say":     {back: time.Hour, hint: -1, answer: "answer: fake/model: down"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, down := time.Now(), time.Minute
				m := &fake{takes: func(*llm.Request) time.Duration { return time.Second }}
				m.answer = func(r *llm.Request) (string, error) {
					since := time.Since(begun) - down
					if since < 0 || since >= tt.back {
						return r.Messages[0].Text()[:5], nil
					}
					wait := tt.hint
					if wait == 0 {
						wait = tt.back - since
					}
					return "", &llm.Error{Class: llm.Transient, Model: "fake/model", Message: "down", RetryAfter: max(0, wait)}
				}
				c := newConfig(m)
				c.Modes[0] = stepsMode(100)
				eng := enginetest.Start(t, c)
				fin := runMode(t, eng, "steps", ponder.Budget{Time: down})
				if waited := time.Since(begun) - down; !strings.HasPrefix(fin.Answer, tt.answer) || waited > tt.waited+3*time.Second || waited < tt.waited-time.Second {
					t.Errorf("after another %s: %+v", waited, fin)
				}
				calls := finishedCalls(eng)
				last := calls[len(calls)-1]
				if hasTime := !last.NotBefore.IsZero(); hasTime != (last.Error != "" && tt.hint >= 0) {
					t.Errorf("last %+v", last.Outcome)
				}
			})
		})
	}
}
