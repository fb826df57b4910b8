package engine_test

import (
	"context"
	"errors"
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

// A choice is the state of a mode that makes the call a, or the call b after a command.
type choice struct{ Other, Done bool }

func (s choice) Apply(ev ponder.Event) ponder.State {
	switch ev.Body.(type) {
	case ponder.Steer:
		s.Other = true
	case ponder.CallFinished:
		s.Done = true
	}
	return s
}

func (s choice) Next(ponder.Moment) []ponder.Action {
	switch {
	case s.Done:
		return []ponder.Action{ponder.Finish{Answer: "done"}}
	case s.Other:
		return []ponder.Action{ponder.Call{Key: "b", Role: ponder.Slow, Request: newRequest("b")}}
	}
	return []ponder.Action{ponder.Call{Key: "a", Role: ponder.Slow, Request: newRequest("a")}}
}

// A refusingStore refuses the first command of a holder.
type refusingStore struct {
	ponder.Store
	refused atomic.Bool
}

func (s *refusingStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	if _, ok := events[0].Body.(ponder.Steer); ok && f != 0 && s.refused.CompareAndSwap(false, true) {
		return nil, ponder.ErrStale
	}
	return s.Store.Append(ctx, id, f, events...)
}

// A decision that the store refuses cancels no call, also if the model takes long to stop.
func TestRefusedDecisionCancelsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &refusingStore{Store: memory.New()}
		model := &fake{takes: func(*llm.Request) time.Duration { return 20 * time.Second }}
		c := newConfig(model)
		c.Store = store
		c.Modes = []ponder.Mode{{Name: "choice", Version: 1, Start: func(ponder.Run) ponder.State { return choice{} }}}
		e := enginetest.Start(t, c)
		e.Put("", "m", ponder.UserMessage{Content: "hello"})
		e.Put(enginetest.Run, "", ponder.RunStarted{Mode: "choice", Input: "?"})
		time.Sleep(time.Second)
		input := e.Events()[0]
		command := ponder.Event{Run: enginetest.Run, Cause: "c", Body: ponder.Steer{Content: "other"}}
		if _, err := e.PostAfter(t.Context(), enginetest.Thread, input.ID, func(context.Context) error { return nil }, command); !errors.Is(err, ponder.ErrStale) || !store.refused.Load() {
			t.Fatalf("post: %v", err)
		}
		if fin := e.Await(enginetest.Run); fin.Status != ponder.Completed || fin.Spent.Calls != 1 || model.begun.Load() != 1 {
			t.Errorf("%d calls begun, finished %+v", model.begun.Load(), fin)
		}
	})
}
