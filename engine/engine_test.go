package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// The overspend of a budget is at most the held cost, for any usage that a model claims or
// writes. The run ends with an answer.
func TestBudgetsHold(t *testing.T) {
	lies := map[string]*fake{
		"honest":    {},
		"nothing":   {claims: func(_ *llm.Request, u *llm.Usage) { *u = llm.Usage{} }},
		"negative":  {claims: func(_ *llm.Request, u *llm.Usage) { *u = llm.Usage{Input: -1e9, Output: -1e9} }},
		"huge":      {claims: func(_ *llm.Request, u *llm.Usage) { *u = llm.Usage{Input: 1e6} }},
		"ten times": {answer: func(r *llm.Request) (string, error) { return strings.Repeat("many words ", r.MaxTokens*4), nil }},
		"endless":   {endles: true},
	}
	budgets := map[string]ponder.Budget{
		"calls":  {Cost: ponder.Cost{Calls: 6}},
		"tokens": {Cost: ponder.Cost{Tokens: 8_000}},
		"money":  {Cost: ponder.Cost{Money: 15_000}},
		"time":   {Time: 25 * time.Second},
		"tiny":   {Cost: ponder.Cost{Tokens: 900}},
	}
	for name, model := range lies {
		for what, budget := range budgets {
			t.Run(name+"/"+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &fake{answer: model.answer, claims: model.claims, endles: model.endles}
					c := newConfig(m)
					c.Modes[0] = stepsMode(2000)
					eng := enginetest.Start(t, c)
					fin := runMode(t, eng, "steps", budget)
					checkBudget(t, eng.Events(), budget, fin, int(m.begun.Load()))
				})
			})
		}
	}
}

func checkBudget(t *testing.T, evs []ponder.Event, budget ponder.Budget, fin ponder.RunFinished, calls int) {
	t.Helper()
	var maxHeld ponder.Cost // held at one time
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.CallStarted); ok {
			maxHeld.Tokens, maxHeld.Money = max(maxHeld.Tokens, b.Reserved.Tokens), max(maxHeld.Money, b.Reserved.Money)
		}
		if b, ok := ev.Body.(ponder.CallFinished); ok && (b.Spent.Tokens < 0 || b.Spent.Calls > 0 && b.Spent.Tokens == 0) {
			t.Errorf("call %s cost %+v", ev.Cause, b.Spent)
		}
	}
	sum := totalSpent(evs)
	over := budget.Calls > 0 && calls > budget.Calls ||
		budget.Tokens > 0 && sum.Tokens > budget.Tokens+maxHeld.Tokens ||
		budget.Money > 0 && sum.Money > budget.Money+maxHeld.Money
	if over {
		t.Errorf("spent %+v in %d calls of %+v, with at most %+v held", sum, calls, budget, maxHeld)
	}
	if fin.Status != ponder.Completed || fin.Answer == "" || fin.Reason == "" || fin.Spent != sum {
		t.Errorf("finished %s (%s) with %d bytes of answer, spent %+v, want %+v", fin.Status, fin.Reason, len(fin.Answer), fin.Spent, sum)
	}
	if open := openCalls(evs); len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}

func TestSteering(t *testing.T) {
	type step struct {
		at   time.Duration
		body ponder.Body
	}
	const s = time.Second
	tests := []struct {
		name   string
		steps  []step
		budget ponder.Budget
		took   time.Duration // of thinking and pausing
		status ponder.Status
		reason string
		calls  int // started
	}{
		{"left alone", nil, ponder.Budget{}, 50 * s, ponder.Completed, "", 5},
		{"paused and resumed", []step{{5 * s, ponder.RunPaused{}}, {500 * s, ponder.RunResumed{}}}, ponder.Budget{}, 550 * s, ponder.Completed, "", 6},
		{"paused twice", []step{{5 * s, ponder.RunPaused{}}, {6 * s, ponder.RunPaused{}}, {10 * s, ponder.RunResumed{}}}, ponder.Budget{}, 60 * s, ponder.Completed, "", 6},
		{"paused while the time runs out", []step{{5 * s, ponder.RunPaused{}}, {500 * s, ponder.RunResumed{}}}, ponder.Budget{Time: 25 * s}, 520 * s, ponder.Completed, "time is spent", 1 + 1 + 1},
		{"cancelled", []step{{5 * s, ponder.Steer{Do: ponder.Cancel}}}, ponder.Budget{}, 5 * s, ponder.Cancelled, "cancelled", 1},
		{"cancelled while paused", []step{{5 * s, ponder.RunPaused{}}, {50 * s, ponder.Steer{Do: ponder.Cancel}}}, ponder.Budget{}, 50 * s, ponder.Cancelled, "cancelled", 1},
		{"answer now", []step{{5 * s, ponder.Steer{Do: ponder.AnswerNow}}}, ponder.Budget{}, 15 * s, ponder.Completed, "asked to answer now", 2},
		{"a hint", []step{{5 * s, ponder.Steer{Content: "mind the tides"}}}, ponder.Budget{}, 50 * s, ponder.Completed, "", 5},
		{"time is up", nil, ponder.Budget{Time: 25 * s}, 30 * s, ponder.Completed, "time is spent", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &fake{takes: func(*llm.Request) time.Duration { return 10 * s }}
				eng := enginetest.Start(t, newConfig(m))
				begin := time.Now()
				eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?", Budget: tt.budget})
				for i, st := range tt.steps {
					time.Sleep(time.Until(begin.Add(st.at)))
					eng.Put(enginetest.Run, fmt.Sprint("step", i), st.body)
				}
				fin := eng.Await(enginetest.Run)
				if took := time.Since(begin); took < tt.took || took > tt.took+s {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				time.Sleep(time.Hour)
				if fin.Status != tt.status || fin.Reason != tt.reason || int(m.begun.Load()) != tt.calls {
					t.Errorf("finished %s (%s) after %d calls, want %s (%s) after %d", fin.Status, fin.Reason, m.begun.Load(), tt.status, tt.reason, tt.calls)
				}
				if open := openCalls(eng.Events()); len(open) > 0 || m.begun.Load() != m.ended.Load() {
					t.Errorf("in flight for ever: %v; %d calls began, %d ended", open, m.begun.Load(), m.ended.Load())
				}
			})
		})
	}
}

// After a failure, the engine repeats the call or asks the next model of the chain. If no
// model answers, the mode gets the error.
func TestFailingModels(t *testing.T) {
	overloaded := &llm.Error{Class: llm.Transient, Message: "overloaded", Status: 503}
	rejected := &llm.Error{Class: llm.Auth, Message: "key rejected", Status: 401}
	tests := []struct {
		name          string
		first, second func(n int32) error
		answer        string
	}{
		{"once overloaded", func(n int32) error { return errorIf(n == 1, overloaded) }, nil, "answer: final step 0"},
		{"key rejected", func(int32) error { return rejected }, nil, "answer: final step 0"},
		{"always overloaded", func(int32) error { return overloaded }, nil, "answer: final step 0"},
		{"both rejected", func(int32) error { return rejected }, func(int32) error { return rejected }, "answer: key rejected (401)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mk := func(name string, fails func(int32) error) *fake {
					m := &fake{name: name}
					m.answer = func(r *llm.Request) (string, error) {
						if fails != nil {
							if err := fails(m.begun.Load()); err != nil {
								return "", err
							}
						}
						return r.Messages[0].Text(), nil
					}
					return m
				}
				chain := []ponder.Model{{Model: mk("a/1", tt.first), Price: price}, {Model: mk("b/2", tt.second), Price: price}}
				c := newConfig(nil)
				c.Modes[0] = stepsMode(1)
				c.Models = map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain}
				eng := enginetest.Start(t, c)
				if fin := runMode(t, eng, "steps", ponder.Budget{}); fin.Answer != tt.answer {
					t.Errorf("answered %q, want %q", fin.Answer, tt.answer)
				}
			})
		})
	}
}

func errorIf(yes bool, err error) error {
	if yes {
		return err
	}
	return nil
}

// stoppableStore is the store of a stopped process, whose heartbeats do not arrive.
type stoppableStore struct {
	ponder.Store
	mu      sync.Mutex
	stopped bool
}

func (s *stoppableStore) Heartbeat(ctx context.Context, id ponder.NodeID, clock time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	return s.Store.Heartbeat(ctx, id, clock)
}

// A holder that was stopped for longer than its lease commits nothing. The next holder
// finishes the run alone.
func TestZombie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		slow := &fake{takes: func(*llm.Request) time.Duration { return time.Minute }}
		c := newConfig(slow)
		zombie := &stoppableStore{Store: store, stopped: true}
		c.Store = zombie
		a, err := engine.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, ponder.Event{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "steps", Input: "?"}}); err != nil {
			t.Fatal(err)
		}
		died := make(chan error, 1)
		go func() { died <- a.Work(t.Context(), enginetest.Thread) }()
		synctest.Wait()
		before := len(enginetest.Events(t, store))
		if before < 2 {
			t.Fatal("the first engine did not begin")
		}
		if _, err := store.Take(t.Context(), enginetest.Thread, "nod_other"); !errors.Is(err, ponder.ErrFenced) {
			t.Errorf("a node that never joined: %v, want ErrFenced", err)
		}
		time.Sleep(ponder.DeadAfter + time.Second)
		fast := new(fake)
		c2 := newConfig(fast)
		c2.Store = store
		eng := enginetest.Start(t, c2)
		eng.Await(enginetest.Run)
		if err := <-died; !errors.Is(err, ponder.ErrFenced) {
			t.Errorf("the zombie: %v, want ErrFenced", err)
		}
		if got, want := [2]int32{slow.begun.Load(), fast.begun.Load()}, [2]int32{1, 5}; got != want {
			t.Errorf("the minds made %v calls, want %v", got, want)
		}
		seen := make(map[string]bool)
		for _, ev := range eng.Events() {
			if k := ev.Key(); k != "" && seen[k] {
				t.Errorf("%s is in the log twice", k)
			} else {
				seen[k] = true
			}
			if b, ok := ev.Body.(ponder.CallFinished); ok && (b.Error != "" || b.Dropped) {
				t.Errorf("call %s: %+v", ev.Cause, b.Outcome)
			}
		}
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// interruptingStore is a store on which a user sends a message after the engine decided to finish a run,
// and before the run finishes.
type interruptingStore struct {
	ponder.Store
	once sync.Once
}

func (s *interruptingStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	for _, ev := range evs {
		if _, ok := ev.Body.(ponder.RunFinished); ok {
			s.once.Do(func() {
				s.Store.Append(ctx, id, 0, ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Do: ponder.AnswerNow}})
			})
		}
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// A run observes a message that arrives while it finishes.
func TestInputAsRunFinishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(new(fake))
		c.Store = &interruptingStore{Store: memory.New()}
		eng := enginetest.Start(t, c)
		if fin := runMode(t, eng, "steps", ponder.Budget{}); fin.Reason != "asked to answer now" {
			t.Errorf("finished: %+v, want the last message to be seen", fin)
		}
	})
}

// A silent model does not delay the conclusion: the engine cuts the call, and the mode concludes from
// the results it has.
func TestSilentConclusion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fake{takes: func(r *llm.Request) time.Duration {
			if strings.HasPrefix(r.Messages[0].Text(), "final") {
				return time.Hour
			}
			return 20 * time.Second
		}}
		c := newConfig(m)
		c.Modes[0] = stepsMode(100)
		eng := enginetest.Start(t, c)
		begun := time.Now()
		fin := runMode(t, eng, "steps", ponder.Budget{Time: time.Minute})
		calls := finishedCalls(eng)
		if took := time.Since(begun); took > 76*time.Second || fin.Answer != "answer: " || calls[len(calls)-1].Finish != llm.FinishTime {
			t.Errorf("after %v: %+v", took, fin)
		}
	})
}
