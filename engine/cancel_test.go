package engine_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
)

// The next run observes a message that arrived between the cancel and the end of a run. It
// does not observe older messages again.
func TestMessageAfterCancel(t *testing.T) {
	for name, late := range map[string]bool{"a message after it": true, "nothing after it": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				message := func(text string) ponder.Event { return ponder.Event{Body: ponder.UserMessage{Content: text}} }
				events := []ponder.Event{
					message("first"), {Run: "run_talk.1", Body: ponder.RunStarted{Mode: "talk", Version: 1}},
					{Run: "run_talk.1", Body: ponder.Steer{Do: ponder.Cancel}},
				}
				want := 1
				if late {
					events, want = append(events, message("second")), 2
				}
				if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, events...); err != nil {
					t.Fatal(err)
				}
				var shown atomic.Int64
				eng := enginetest.Start(t, engine.Config{Store: store, Modes: []ponder.Mode{talkMode(&shown, true)}})
				synctest.Wait()
				var ended []ponder.Status
				for _, ev := range eng.Events() {
					if b, ok := ev.Body.(ponder.RunFinished); ok {
						ended = append(ended, b.Status)
					}
				}
				if len(ended) != want || ended[0] != ponder.Cancelled {
					t.Errorf("runs ended %v, want %d of them", ended, want)
				}
			})
		})
	}
}

// A slowToStop is a model that ignores the end of its ctx for a minute.
type slowToStop struct{}

func (slowToStop) Name() string { return "fake/slow" }

func (slowToStop) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		time.Sleep(time.Minute)
		yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Message: "cancelled"})
	}
}

// The next holder appends the result of a call whose run was cancelled, if the holder is killed or
// stops between the end of the run and the end of the call.
func TestCallOfCancelledRun(t *testing.T) {
	for name, kill := range map[string]bool{"killed": true, "stopped": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				c := newConfig(new(fake))
				c.Store, c.Models = store, enginetest.Models(slowToStop{}, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5})
				defer time.Sleep(time.Minute) // the model ends
				first := enginetest.Start(t, c)
				first.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
				time.Sleep(time.Second)
				first.Put(enginetest.Run, "c", ponder.Steer{Do: ponder.Cancel})
				if fin := first.Await(enginetest.Run); fin.Status != ponder.Cancelled {
					t.Fatalf("finished %+v", fin)
				}
				if kill {
					markAllDead(t, store)
				}
				first.Stop()
				checkAbandoned(t, store, 1)
				if open := openCalls(first.Events()); len(open) != 1 {
					t.Fatalf("open calls %v, want one", open)
				}
				next := enginetest.Start(t, c)
				synctest.Wait()
				next.Stop()
				if open, spent := openCalls(next.Events()), totalSpent(next.Events()); len(open) > 0 || spent.Calls != 1 {
					t.Errorf("open calls %v, spent %+v, want one call", open, spent)
				}
				checkAbandoned(t, store, 0)
			})
		})
	}
}

// markAllDead marks all nodes dead, as another process does after a kill.
func markAllDead(t *testing.T, store ponder.Store) {
	t.Helper()
	nodes, err := store.AllNodes(t.Context())
	if err != nil || len(nodes) == 0 {
		t.Fatalf("nodes %v, %v", nodes, err)
	}
	for _, n := range nodes {
		if err := store.MarkDead(t.Context(), n.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func checkAbandoned(t *testing.T, store ponder.Store, want int) {
	t.Helper()
	if ids, err := store.Abandoned(t.Context()); err != nil || len(ids) != want {
		t.Errorf("abandoned %v, %v, want %d", ids, err, want)
	}
}
