package engine_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// oddState is the state of a mode whose Next is a function of the number of observed events.
type oddState struct {
	seen int
	next func(seen int) []ponder.Action
}

func (o oddState) Apply(ponder.Event) ponder.State    { o.seen++; return o }
func (o oddState) Next(ponder.Moment) []ponder.Action { return o.next(o.seen) }
func oddMode(next func(int) []ponder.Action) ponder.Mode {
	return ponder.Mode{Name: "odd", Start: func(ponder.Run) ponder.State { return oddState{next: next} }}
}

// The run of a faulty mode fails with a one-line reason. It causes no panic, no stuck run
// and no endless log.
func TestFaultyModes(t *testing.T) {
	note := func(key string) ponder.Action {
		return ponder.Write{Key: key, Bodies: []ponder.Body{ponder.Progress{Content: "on"}}}
	}
	tests := []struct {
		name string
		next func(seen int) []ponder.Action
		want string
	}{
		{"panics", func(int) []ponder.Action { panic("oh\nno") }, "mode odd panicked: oh"},
		{"writes for ever", func(n int) []ponder.Action { return []ponder.Action{note(fmt.Sprintf("n-%d", n))} }, "does not stop"},
		{"has no answer", func(int) []ponder.Action { return []ponder.Action{ponder.Finish{}} }, "without an answer"},
		{"asks with a bad key", func(int) []ponder.Action { return []ponder.Action{note("a/b")} }, "invalid key"},
		{"asks with no key", func(int) []ponder.Action { return []ponder.Action{note("")} }, "invalid key"},
		{"asks with a long key", func(int) []ponder.Action { return []ponder.Action{note(strings.Repeat("k", 65))} }, "invalid key"},
		{"uses a key for two kinds", func(n int) []ponder.Action {
			if n == 0 {
				return []ponder.Action{note("x")}
			}
			return []ponder.Action{ponder.Do{Key: "x", Tool: "look"}}
		}, "two kinds"},
		{"nests without end", func(int) []ponder.Action {
			return []ponder.Action{ponder.Spawn{Key: "deeper", Mode: "odd"}}
		}, ""},
		{"spawns for ever", func(n int) []ponder.Action {
			return []ponder.Action{ponder.Spawn{Key: fmt.Sprintf("kid-%d", n+1), Mode: "none"}}
		}, "does not stop"},
		{"asks for a nil action", func(int) []ponder.Action { return []ponder.Action{nil} }, "nil action"},
		{"writes no body", func(int) []ponder.Action { return []ponder.Action{ponder.Write{Key: "w", Bodies: []ponder.Body{nil}}} }, "without a body"},
		{"spawns what there is not", func(n int) []ponder.Action {
			if n > 0 {
				return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: "child ended"}}
			}
			return []ponder.Action{ponder.Spawn{Key: "kid", Mode: "none"}}
		}, "child ended"},
		{"uses a tool there is not", func(n int) []ponder.Action {
			if n > 0 {
				return []ponder.Action{ponder.Finish{Status: ponder.Failed, Reason: "tool ended"}}
			}
			return []ponder.Action{ponder.Do{Key: "t", Tool: "none", Args: json.RawMessage(`{}`)}}
		}, "tool ended"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(new(fake))
				c.Modes = append(c.Modes, oddMode(tt.next))
				eng := enginetest.Start(t, c)
				eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
				if tt.want == "" { // the run waits for its child
					time.Sleep(time.Minute)
					eng.Put(enginetest.Run, "stop", ponder.Steer{Do: ponder.Cancel})
				}
				fin := eng.Await(enginetest.Run)
				if !strings.Contains(fin.Reason, tt.want) || strings.Contains(fin.Reason, "goroutine") {
					t.Errorf("finished %s: %q, want %q", fin.Status, fin.Reason, tt.want)
				}
				if n := len(eng.Events()); n > 1000 {
					t.Errorf("%d events", n)
				}
			})
		})
	}
}

// A run without a state ends.
func TestModeWithoutState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(new(fake))
		c.Modes = append(c.Modes, ponder.Mode{Name: "none", Start: func(ponder.Run) ponder.State { return nil }})
		eng := enginetest.Start(t, c)
		if fin := runMode(t, eng, "none", ponder.Budget{}); fin.Status != ponder.Failed || fin.Reason != "mode none has no state" {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
	})
}

// The engine stops modes whose runs wake each other. A mode that an endless writer wakes
// still runs.
func TestModesThatWakeEachOther(t *testing.T) {
	for _, first := range []string{"ping", "odd"} {
		t.Run(first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := func(ponder.Run) ponder.State {
					return oddState{next: func(int) []ponder.Action { return []ponder.Action{ponder.Finish{Answer: "done"}} }}
				}
				ended := func(mode string) func(ponder.Event) bool {
					return func(ev ponder.Event) bool {
						_, ok := ev.Body.(ponder.RunFinished)
						return ok && strings.Contains(string(ev.Run), mode)
					}
				}
				c := newConfig(new(fake))
				c.Modes = append(c.Modes,
					ponder.Mode{Name: "ping", Start: done, Wakes: ended("pong")}, ponder.Mode{Name: "pong", Start: done, Wakes: ended("ping")},
					ponder.Mode{Name: "late", Start: done, Wakes: func(ev ponder.Event) bool { return strings.HasPrefix(ev.Cause, "n-200/") }},
					oddMode(func(n int) []ponder.Action {
						return []ponder.Action{ponder.Write{Key: fmt.Sprintf("n-%d", n), Bodies: []ponder.Body{ponder.Progress{Content: "on"}}}}
					}),
				)
				c.Store = memory.New()
				run := ponder.Event{Run: "run_" + ponder.RunID(first), Body: ponder.RunStarted{Mode: first, Input: "?"}}
				if err := c.Store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, run); err != nil {
					t.Fatal(err)
				}
				if err := workOnce(t, c); err != nil {
					t.Fatal(err)
				}
				evs, late := enginetest.Events(t, c.Store), 0
				for _, ev := range evs {
					if b, ok := ev.Body.(ponder.RunFinished); ok && strings.HasPrefix(string(ev.Run), "run_late") && b.Status == ponder.Completed {
						late++
					}
				}
				if len(evs) > 1000 || (late == 1) != (first == "odd") {
					t.Errorf("%d events, %d runs of the mode that was woken late", len(evs), late)
				}
			})
		})
	}
}

// Sums of huge limits do not overflow.
func TestHugeLimits(t *testing.T) {
	for _, money := range []ponder.Money{0, math.MaxInt64} {
		t.Run(fmt.Sprint("budget ", money), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { askForHuge(t, ponder.Budget{Cost: ponder.Cost{Money: money}}) })
		})
	}
}

func askForHuge(t *testing.T, budget ponder.Budget) {
	t.Helper()
	m := &fake{answer: func(*llm.Request) (string, error) { return distinctWords(2000), nil }}
	c := newConfig(m)
	c.Modes = append(c.Modes, oddMode(func(n int) []ponder.Action {
		if n > 0 {
			return []ponder.Action{ponder.Finish{Answer: "x"}}
		}
		huge := newRequest("hello")
		huge.MaxTokens = math.MaxInt
		return []ponder.Action{ponder.Call{Key: "c", Role: ponder.Fast, Request: huge}}
	}))
	c.Models = enginetest.Models(m, ponder.Price{Source: ponder.PriceTable, Input: 0.1, Output: 0.4})
	eng := enginetest.Start(t, c)
	runMode(t, eng, "odd", budget)
	for _, ev := range eng.Events() {
		switch b := ev.Body.(type) {
		case ponder.CallStarted:
			req, err := eng.Store.Request(t.Context(), enginetest.Thread, ev.Run, ev.Cause)
			if err != nil || req.MaxTokens != 1<<28 || b.Reserved.Tokens < 1<<28 || b.Reserved.Money <= 0 {
				t.Errorf("%+v held for %d tokens, %v", b.Reserved, req.MaxTokens, err)
			}
		case ponder.CallFinished:
			if b.Finish != llm.FinishStop || b.Spent.Money <= 0 {
				t.Errorf("finished %s after %d bytes, spent %+v", b.Finish, len(b.Text()), b.Spent)
			}
		}
	}
}

// Actions beyond the limit wait for a free place.
func TestConcurrencyIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 200
		m := new(fake)
		c := newConfig(m)
		c.Modes = append(c.Modes, oddMode(func(seen int) (do []ponder.Action) {
			if seen >= all {
				return []ponder.Action{ponder.Finish{Answer: "all"}}
			}
			for i := range all {
				do = append(do, ponder.Call{Key: fmt.Sprintf("c-%d", i), Role: ponder.Fast, Request: newRequest(fmt.Sprint(i))})
			}
			return do
		}))
		eng := enginetest.Start(t, c)
		if fin := runMode(t, eng, "odd", ponder.Budget{}); fin.Answer != "all" || m.begun.Load() != all {
			t.Errorf("finished %+v after %d calls", fin, m.begun.Load())
		}
		open, maxOpen := 0, 0
		for _, ev := range eng.Events() {
			switch ev.Body.(type) {
			case ponder.CallStarted:
				open++
			case ponder.CallFinished:
				open--
			}
			maxOpen = max(maxOpen, open)
		}
		if maxOpen > 64+1 { // a result and its successor share a transaction
			t.Errorf("%d calls at once", maxOpen)
		}
	})
}

// A second run on a thread starts with no thinking time.
func TestSecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := enginetest.Start(t, newConfig(new(fake)))
		runMode(t, eng, "steps", ponder.Budget{})
		eng.Put("run_2", "", ponder.RunStarted{Mode: "steps", Input: "?", Budget: ponder.Budget{Time: 10 * time.Minute}})
		if fin := eng.Await("run_2"); fin.Reason != "" {
			t.Errorf("finished: %+v, want it to have all its time", fin)
		}
	})
}

// A pair is the state of a mode that makes two calls at once, and concludes with one if its budget
// is spent. Its root run does that in two children.
type pair struct {
	Root       bool
	Told, Done bool
	Ended      int
}

func (s pair) Apply(ev ponder.Event) ponder.State {
	switch b := ev.Body.(type) {
	case ponder.BudgetSpent:
		s.Told = true
	case ponder.CallFinished: // also a refused one
		s.Done = s.Done || s.Told && !b.Dropped
	case ponder.RunFinished:
		s.Ended++
	}
	return s
}

func (s pair) Next(ponder.Moment) []ponder.Action {
	call := func(key string) ponder.Action {
		return ponder.Call{Key: key, Role: ponder.Slow, Request: newRequest(key)}
	}
	spawn := func(key string) ponder.Action {
		return ponder.Spawn{Key: key, Mode: "pair", Budget: ponder.Budget{Cost: ponder.Cost{Calls: 2}}}
	}
	switch {
	case s.Done || s.Ended == 2:
		return []ponder.Action{ponder.Finish{Answer: "done"}}
	case s.Root:
		return []ponder.Action{spawn("one"), spawn("two")}
	case s.Told:
		return []ponder.Action{call("final")}
	}
	return []ponder.Action{call("a"), call("b")}
}

// A decision does not count the reservations of calls that it drops.
func TestDroppedCallsReserveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(new(fake))
		c.Modes = []ponder.Mode{{Name: "pair", Version: 1, Start: func(r ponder.Run) ponder.State { return pair{Root: r.ID.Parent() == ""} }}}
		e := enginetest.Start(t, c)
		fin := runMode(t, e, "pair", ponder.Budget{Cost: ponder.Cost{Calls: 3}})
		if fin.Status != ponder.Completed || fin.Spent.Calls != 2 {
			t.Errorf("finished %+v, want two calls", fin)
		}
		for _, ev := range e.Events() {
			if b, ok := ev.Body.(ponder.CallFinished); ok && b.Refused {
				t.Errorf("refused %s %s: %s", ev.Run, ev.Cause, b.Error)
			}
		}
	})
}
