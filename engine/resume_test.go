package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
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

// growingStore is a store whose thread grows when its lease is released.
type growingStore struct {
	ponder.Store
	once sync.Once
	grow func()
}

func (s *growingStore) Release(ctx context.Context, id ponder.ThreadID, f ponder.Fence, head ponder.Seq, elapsed time.Duration) error {
	s.once.Do(s.grow)
	return s.Store.Release(ctx, id, f, head, elapsed)
}

// A release that fails with ErrStale counts no thinking time twice.
func TestReleaseTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New()
		store := &growingStore{Store: mem, grow: func() {
			run := ponder.Event{Run: "run_2", Body: ponder.RunStarted{Mode: "steps", Input: "?"}}
			if _, err := mem.Append(context.Background(), enginetest.Thread, 0, run); err != nil {
				t.Error(err)
			}
		}}
		c := newConfig(&fake{takes: func(*llm.Request) time.Duration { return 10 * time.Second }})
		c.Store = store
		began := time.Now()
		eng := enginetest.Start(t, c)
		runMode(t, eng, "steps", ponder.Budget{})
		eng.Await("run_2")
		took := time.Since(began)
		evs := eng.Events()
		if elapsed := evs[len(evs)-1].Elapsed; elapsed > took {
			t.Errorf("the thread was held for %v; its clock shows %v", took, elapsed)
		}
	})
}

// stoppingStore is a store that stops its reader after some events.
type stoppingStore struct {
	ponder.Store
	left atomic.Int64
	stop func()
}

func (s *stoppingStore) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range s.Store.Events(ctx, id, after) {
			if s.left.Add(-1) == 0 {
				s.stop()
			}
			if ctx.Err() != nil {
				yield(ponder.Event{}, ctx.Err())
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// countState is the state of a mode that answers with the number of observed messages when a steer arrives.
type countState struct{ Said int }

func countsMode() ponder.Mode {
	return ponder.Mode{
		Name: "counts", Version: 1, History: true,
		Start: func(ponder.Run) ponder.State { return countState{} },
		Wakes: func(ev ponder.Event) bool { b, ok := ev.Body.(ponder.UserMessage); return ok && b.Content == "go" },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			var s countState
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func (s countState) Apply(ev ponder.Event) ponder.State {
	if _, ok := ev.Body.(ponder.UserMessage); ok {
		s.Said++
	}
	return s
}

func (s countState) Next(ponder.Moment) []ponder.Action {
	return []ponder.Action{ponder.Finish{Answer: fmt.Sprint(s.Said)}}
}

// A run observes the whole history, wherever a process was stopped while it read.
func TestStoppedWhileReading(t *testing.T) {
	for _, after := range []int64{1, 300, messagesBefore + 1, messagesBefore + 2, messagesBefore + 300} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stopReading(t, after, func(*stoppingStore) {}) })
		})
	}
}

// The lease of a process that was stopped while it read is free at once.
func TestStoppedLeaseIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopReading(t, 300, func(s *stoppingStore) {
			if _, err := s.Append(t.Context(), enginetest.Thread, 0, ponder.Event{Body: ponder.Observation{}}); err != nil {
				t.Error(err)
			}
		})
	})
}

// messagesBefore is the number of messages before the run of the mode counts.
const messagesBefore = 600

// stopReading stops an engine after it has read so many events, calls then, and starts a
// new engine.
func stopReading(t *testing.T, after int64, then func(*stoppingStore)) {
	t.Helper()
	store := &stoppingStore{Store: memory.New()}
	messages := make([]ponder.Event, messagesBefore)
	for i := range messages {
		messages[i].Body = ponder.UserMessage{Content: fmt.Sprint(i)}
	}
	messages = append(messages, ponder.Event{Body: ponder.UserMessage{Content: "go"}})
	if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread}, messages...); err != nil {
		t.Fatal(err)
	}
	eng, err := engine.New(engine.Config{Store: store, Modes: []ponder.Mode{countsMode()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer eng.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	store.stop = func() {
		then(store)
		cancel()
	}
	store.left.Store(after)
	if err := eng.Work(ctx, enginetest.Thread); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := eng.Work(t.Context(), enginetest.Thread); err != nil {
		t.Fatal(err)
	}
	evs := enginetest.Events(t, store)
	fin, ok := evs[len(evs)-1].Body.(ponder.RunFinished)
	if want := fmt.Sprint(messagesBefore + 1); !ok || fin.Answer != want {
		t.Errorf("the run was shown %s messages, want %s", fin.Answer, want)
	}
}

// A call of an earlier process goes to its model, although its role has no model any more.
// If the call fails, no other model follows.
func TestInheritedCallWithoutRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fake{answer: func(*llm.Request) (string, error) { return "", &llm.Error{Class: llm.Transient, Message: "overloaded"} }}
		c := newConfig(m)
		before := enginetest.Start(t, c)
		before.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(time.Second / 2)
		before.Stop()
		c.Store = before.Store
		delete(c.Models, ponder.Slow)
		if fin := enginetest.Start(t, c).Await(enginetest.Run); fin.Status != ponder.Completed || !strings.Contains(fin.Answer, "overloaded") {
			t.Errorf("finished %+v", fin)
		}
	})
}

// Removing a thread stops its work at once.
func TestRemovedWhileThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, m := memory.New(), &fake{takes: func(*llm.Request) time.Duration { return 7 * time.Minute }}
		began := time.Now()
		time.AfterFunc(time.Second, func() {
			if err := store.Remove(context.Background(), enginetest.Thread); err != nil {
				t.Error(err)
			}
		})
		if err := workSteps(t, store, m); !errors.Is(err, ponder.ErrFenced) {
			t.Errorf("work: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second || m.begun.Load() != m.ended.Load() {
			t.Errorf("worked for %v; %d calls began, %d ended", took, m.begun.Load(), m.ended.Load())
		}
	})
}
