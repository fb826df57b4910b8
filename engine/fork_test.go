package engine_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
	"ponder/store/sqlite"
)

// A fork at any event reaches the end of the source thread. The engine repeats only calls
// that were in flight.
func TestForkAtEveryEvent(t *testing.T) {
	for _, mode := range []string{"steps", "panel"} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				eng := enginetest.Start(t, newConfig(new(fake)))
				runMode(t, eng, mode, ponder.Budget{})
				eng.Stop()
				forkEverywhere(t, eng.Store, func() *fake { return new(fake) })
			})
		})
	}
}

// In a database, the usage counts the copied calls once.
func TestForkInSQLite(t *testing.T) {
	store := openSQLite(t)
	quick := func() *fake { return &fake{takes: func(*llm.Request) time.Duration { return 0 }} }
	first := quick()
	err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindSession},
		ponder.Event{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "short", Input: "?"}})
	if err != nil {
		t.Fatal(err)
	}
	finishWork(t, store, enginetest.Thread, first)
	made := forkEverywhere(t, store, quick)
	rows, err := store.Usage(t.Context(), ponder.ByModel, time.Time{})
	if want := made + int(first.begun.Load()); err != nil || len(rows) != 1 || rows[0].Calls != want {
		t.Errorf("used %+v, %v, want %d calls", rows, err, want)
	}
}

// forkEverywhere forks the thread at every event, and returns how many calls the forks
// made.
func forkEverywhere(t *testing.T, store ponder.Store, model func() *fake) (calls int) {
	t.Helper()
	whole := threadEvents(t, store, enginetest.Thread)
	for n := 1; n <= len(whole); n++ {
		to := ponder.ThreadID(fmt.Sprintf("thr_%d", n))
		if err := engine.Fork(t.Context(), store, enginetest.Thread, ponder.Seq(n), ponder.Thread{ID: to}); err != nil {
			t.Fatal(err)
		}
		checkCopy(t, whole[:n], threadEvents(t, store, to))
		model := model()
		finishWork(t, store, to, model)
		var got []ponder.Event
		for _, ev := range threadEvents(t, store, to) {
			if ev.Thread = enginetest.Thread; ev.Seq != ponder.Seq(n+1) {
				got = append(got, ev)
			}
		}
		if diff := cmp.Diff(enginetest.Lines(whole), enginetest.Lines(got)); diff != "" {
			t.Fatalf("fork at event %d (%s): -whole +fork\n%s", n, enginetest.Line(whole[n-1]), diff)
		}
		all, ended := 0, 0
		for _, ev := range whole {
			if _, ok := ev.Body.(ponder.CallFinished); ok {
				if all++; ev.Seq <= ponder.Seq(n) {
					ended++
				}
			}
		}
		made := int(model.begun.Load())
		if made != all-ended {
			t.Errorf("fork at event %d: made %d calls, want %d", n, made, all-ended)
		}
		calls += made
	}
	return calls
}

// checkCopy checks that a fork begins with a copy of the source and a note of its origin.
func checkCopy(t *testing.T, want, got []ponder.Event) {
	t.Helper()
	if len(got) != len(want)+1 {
		t.Fatalf("the copy of %d events has %d", len(want), len(got))
	}
	for i, ev := range want {
		ev.Thread = got[i].Thread
		if diff := cmp.Diff(ev, got[i]); diff != "" {
			t.Fatalf("event %d: -from +to\n%s", i+1, diff)
		}
	}
	n := len(want)
	note, ok := got[n].Body.(ponder.SystemNote)
	if !ok || note.From != enginetest.Thread || note.At != ponder.Seq(n) || note.Content != fmt.Sprintf("forked from %s at event %d", enginetest.Thread, n) {
		t.Errorf("the origin is %+v", got[n])
	}
}

func threadEvents(t *testing.T, log ponder.Log, thread ponder.ThreadID) (all []ponder.Event) {
	t.Helper()
	for ev, err := range log.Events(t.Context(), thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// finishWork works on a thread until it is idle.
func finishWork(t *testing.T, store ponder.Store, thread ponder.ThreadID, model *fake) {
	t.Helper()
	c := newConfig(model)
	short := stepsMode(2)
	short.Name = "short"
	c.Store, c.Modes = store, append(c.Modes, short)
	workWith(t, c, thread)
}

func workWith(t *testing.T, c engine.Config, thread ponder.ThreadID) {
	t.Helper()
	eng, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := eng.Work(t.Context(), thread); err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The inputs of a fork take effect first: a pause prevents the calls that were in flight,
// and the fork does not pay for them.
func TestForkPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := enginetest.Start(t, newConfig(new(fake)))
		runMode(t, eng, "panel", ponder.Budget{})
		eng.Stop()
		store, whole := eng.Store, eng.Events()
		for n := range whole {
			if n == len(whole)-1 {
				break // the run has ended
			}
			to := ponder.ThreadID(fmt.Sprintf("thr_%d", n+1))
			err := engine.Fork(t.Context(), store, enginetest.Thread, ponder.Seq(n+1), ponder.Thread{ID: to, Title: "what if"},
				ponder.Event{Run: enginetest.Run, After: 3, Body: ponder.RunPaused{Reason: "forked"}})
			if err != nil {
				t.Fatal(err)
			}
			info, err := store.Thread(t.Context(), to)
			if err != nil || info.Status != ponder.Paused || info.Title != "what if" || info.Kind != ponder.KindSession {
				t.Fatalf("fork at %d: %+v, %v", n+1, info, err)
			}
			model := new(fake)
			finishWork(t, store, to, model)
			evs := threadEvents(t, store, to)
			if made, cost := model.begun.Load(), totalSpent(evs); made != 0 || cost != totalSpent(whole[:n+1]) {
				t.Errorf("fork at %d: %d calls were made, for %+v in all", n+1, made, cost)
			}
			if open := openCalls(evs); len(open) > 0 {
				t.Errorf("fork at %d: open calls %v", n+1, open)
			}
			if _, err := ponder.SendCommands(t.Context(), store, to, ponder.Event{Run: enginetest.Run, Body: ponder.RunResumed{}}); err != nil {
				t.Fatal(err)
			}
			finishWork(t, store, to, new(fake))
			evs = threadEvents(t, store, to)
			if fin, ok := evs[len(evs)-1].Body.(ponder.RunFinished); !ok || fin.Status != ponder.Completed {
				t.Errorf("fork at %d ended with %+v", n+1, evs[len(evs)-1])
			}
		}
	})
}

func TestForkErrors(t *testing.T) {
	ctx, store := t.Context(), memory.New()
	create := func(id ponder.ThreadID, evs ...ponder.Event) {
		if err := store.Create(ctx, ponder.Thread{ID: id}, evs...); err != nil {
			t.Fatal(err)
		}
	}
	create("thr_a", ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "steps"}})
	create("thr_b")
	create("thr_gone", ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "steps"}})
	if err := store.Remove(ctx, "thr_gone"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		from, to ponder.ThreadID
		at       ponder.Seq
		input    []ponder.Event
		want     error
	}{
		{name: "before all", from: "thr_a", at: 0, to: "thr_new", want: ponder.ErrNoEvent},
		{name: "less than none", from: "thr_a", at: -1, to: "thr_new", want: ponder.ErrNoEvent},
		{name: "not yet", from: "thr_a", at: 2, to: "thr_new", want: ponder.ErrNoEvent},
		{name: "empty", from: "thr_b", at: 1, to: "thr_new", want: ponder.ErrNoEvent},
		{name: "removed", from: "thr_gone", at: 1, to: "thr_new", want: ponder.ErrNoThread},
		{name: "none", from: "thr_none", at: 1, to: "thr_new", want: ponder.ErrNoThread},
		{name: "taken", from: "thr_a", at: 1, to: "thr_b", want: ponder.ErrTaken},
		{name: "no input", from: "thr_a", at: 1, to: "thr_new", input: []ponder.Event{{Body: ponder.Thought{}}}, want: ponder.ErrNotInput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := engine.Fork(ctx, store, tt.from, tt.at, ponder.Thread{ID: tt.to}, tt.input...); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	list, err := store.List(ctx, ponder.Filter{})
	if err != nil || slices.ContainsFunc(list, func(i ponder.Info) bool { return i.ID == "thr_new" }) {
		t.Errorf("threads %+v, %v", list, err)
	}
}

// A fork of a session at any event reaches an answer, with and without commands.
func TestForkSessionAtEveryEvent(t *testing.T) {
	model := func() *llmtest.Model { return new(llmtest.Model) }
	conf := func(store ponder.Store, m *llmtest.Model) engine.Config {
		return engine.Config{Store: store, Modes: []ponder.Mode{session.New()}, Models: enginetest.Models(m, price)}
	}
	for name, store := range map[string]ponder.Store{"memory": memory.New(), "sqlite": openSQLite(t)} {
		t.Run(name, func(t *testing.T) {
			err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindSession}, ponder.Event{
				Run: enginetest.Run, Body: ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Budget: ponder.Budget{Cost: ponder.Cost{Calls: 5}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			workWith(t, conf(store, model()), enginetest.Thread)
			whole := threadEvents(t, store, enginetest.Thread)
			notified := false
			for n, ev := range whole[:len(whole)-1] {
				if _, ok := ev.Body.(ponder.BudgetSpent); ok {
					notified = true
				}
				to := ponder.ThreadID(fmt.Sprintf("thr_%d", n+1))
				err := engine.Fork(t.Context(), store, enginetest.Thread, ponder.Seq(n+1), ponder.Thread{ID: to},
					ponder.Event{Run: enginetest.Run, Cause: "steer-1", Body: ponder.Steer{Do: ponder.AddQuestion, Content: "Who asks?"}},
					ponder.Event{Run: enginetest.Run, Cause: "steer-2", Body: ponder.Steer{Do: ponder.SetBudget, Args: []byte(`{"calls":6}`)}})
				if err != nil {
					t.Fatal(err)
				}
				m := model()
				workWith(t, conf(store, m), to)
				got := threadEvents(t, store, to)
				fin, ok := got[len(got)-1].Body.(ponder.RunFinished)
				if !ok || fin.Status != ponder.Completed || fin.Spent.Calls > 6 {
					t.Fatalf("the fork at %d (%s) ended with %+v", n+1, enginetest.Line(ev), got[len(got)-1])
				}
				acks := 0
				for _, ev := range got[n+2:] {
					if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == ponder.StageSteered {
						if acks++; b.Refused != notified {
							t.Errorf("the fork at %d: %+v", n+1, b)
						}
					}
				}
				if acks != 2 {
					t.Errorf("the fork at %d (%s) acknowledged %d of two commands", n+1, enginetest.Line(ev), acks)
				}
			}
		})
	}
}

func openSQLite(t *testing.T) ponder.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}
