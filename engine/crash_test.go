package engine_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// A log that is cut after any event leads to the events of an uncut log. The engine repeats
// only calls that were in flight.
func TestCutAfterEveryEvent(t *testing.T) {
	for _, mode := range []string{"steps", "panel"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { cutEverywhere(t, mode) })
		})
	}
}

func cutEverywhere(t *testing.T, mode string) {
	model := new(fake)
	eng := enginetest.Start(t, newConfig(model))
	fin := runMode(t, eng, mode, ponder.Budget{})
	eng.Stop()
	if fin.Status != ponder.Completed {
		t.Fatalf("finished: %+v", fin)
	}
	whole, calls := eng.Events(), int(model.begun.Load())
	want := enginetest.Lines(whole)
	for n := 1; n <= len(whole); n++ {
		model, store := new(fake), memory.New()
		if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, eng.Copy(whole[:n])...); err != nil {
			t.Fatal(err)
		}
		c := newConfig(model)
		c.Store = store
		eng := enginetest.Start(t, c)
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: mode, Input: "?"})
		eng.Await(enginetest.Run)
		eng.Stop()
		if diff := cmp.Diff(want, enginetest.Lines(eng.Events())); diff != "" {
			t.Fatalf("cut after event %d (%s): -whole +cut\n%s", n, enginetest.Line(whole[n-1]), diff)
		}
		ended := 0
		for _, ev := range whole[:n] {
			if _, ok := ev.Body.(ponder.CallFinished); ok {
				ended++
			}
		}
		if got := ended + int(model.begun.Load()); got != calls {
			t.Errorf("cut after event %d: %d calls finished before or made after, want %d", n, got, calls)
		}
	}
	t.Logf("%d events, %d calls", len(whole), calls)
}

// An engine that starts from a checkpoint continues like one that reads the whole thread.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := stepsMode(300)
		c := newConfig(new(fake))
		c.Modes[0] = long
		eng := enginetest.Start(t, c)
		runMode(t, eng, "steps", ponder.Budget{})
		eng.Stop()
		want := enginetest.Lines(eng.Events())

		store := memory.New()
		for stopped := 0; ; stopped++ {
			c := newConfig(new(fake))
			c.Modes[0], c.Store = long, store
			eng := enginetest.Start(t, c)
			eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
			for ev, err := range ponder.Follow(t.Context(), store, enginetest.Thread, ponder.Seq(stopped*500)) {
				if err != nil {
					t.Fatal(err)
				}
				_, over := ev.Body.(ponder.RunFinished)
				if over || ev.Seq >= ponder.Seq(stopped*500+450) {
					break
				}
			}
			eng.Stop()
			if evs := enginetest.Events(t, store); strings.Contains(enginetest.Line(evs[len(evs)-1]), "run_finished") {
				if diff := cmp.Diff(want, enginetest.Lines(evs)); diff != "" {
					t.Errorf("stopped %d times: -whole +stopped\n%s", stopped, diff)
				}
				if stopped < 2 {
					t.Errorf("stopped only %d times", stopped)
				}
				return
			}
		}
	})
}

// The estimator of tokens survives a crash: the same call no longer fits the token budget.
func TestEstimatorSurvivesCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counting := func() *fake { // half of the estimate before the first report
			return &fake{
				answer: func(*llm.Request) (string, error) { return "so", nil },
				claims: func(req *llm.Request, u *llm.Usage) { u.Input = req.Size() / 6 },
			}
		}
		budget := ponder.Budget{Cost: ponder.Cost{Tokens: 4500}}
		conf := func(model *fake) engine.Config {
			c := newConfig(model)
			c.Modes[0] = wordyMode(40)
			return c
		}
		eng := enginetest.Start(t, conf(counting()))
		fin := runMode(t, eng, "steps", budget)
		eng.Stop()
		if fin.Reason != "tokens is spent" {
			t.Fatalf("finished: %+v", fin)
		}
		whole := eng.Events()
		want := enginetest.Lines(whole)
		if first, last := heldCost(whole, "step-0#1"), heldCost(whole, "step-3#1"); last.Tokens >= first.Tokens {
			t.Errorf("held for the first call %d tokens, for a later one %d: nothing was learned", first.Tokens, last.Tokens)
		}
		for n := 1; n <= len(whole); n++ {
			store := memory.New()
			if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, eng.Copy(whole[:n])...); err != nil {
				t.Fatal(err)
			}
			c := conf(counting())
			c.Store = store
			again := enginetest.Start(t, c)
			again.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?", Budget: budget})
			again.Await(enginetest.Run)
			again.Stop()
			if diff := cmp.Diff(want, enginetest.Lines(again.Events())); diff != "" {
				t.Fatalf("cut after event %d (%s): -whole +cut\n%s", n, enginetest.Line(whole[n-1]), diff)
			}
		}
	})
}

// heldCost returns the held cost of a call.
func heldCost(evs []ponder.Event, cause string) (c ponder.Cost) {
	for _, ev := range evs {
		if b, ok := ev.Body.(ponder.CallStarted); ok && ev.Cause == cause {
			c = b.Reserved
		}
	}
	return c
}
