package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"ponder"
	"ponder/engine"
	"ponder/store/memory"
)

// TestFold folds a thread in advance. The next engine then opens the checkpoint, and the
// thread has no new events.
func TestFold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLongStore(t, 1000)
		before := store.threadHead(t)
		eng := newEngine(t, store)
		if err := eng.Fold(t.Context(), longThread); err != nil {
			t.Fatal(err)
		}
		if read := store.reads.Load(); read < 1000 || store.threadHead(t) != before {
			t.Errorf("%d events read, head %d and before %d", read, store.threadHead(t), before)
		}
		store.reads.Store(0)
		if err := eng.Fold(t.Context(), longThread); err != nil {
			t.Fatal(err)
		}
		if read := store.reads.Load(); read > 0 {
			t.Errorf("%d events read again", read)
		}
		if err := eng.Fold(t.Context(), "thr_none"); !errors.Is(err, ponder.ErrNoThread) {
			t.Errorf("no thread: %v", err)
		}
	})
}

// TestLongThread takes turns in a conversation of 100,000 events. With a checkpoint, a turn
// reads and folds no more than in a conversation of 1,000 events.
func TestLongThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var work [2]int64
		for i, events := range []int{1000, 20_000} {
			store := newLongStore(t, events)
			eng := newEngine(t, store)
			if err := eng.Fold(t.Context(), longThread); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				store.reads.Store(0)
				store.shown.Store(0)
				message := ponder.Event{Body: ponder.UserMessage{Content: "and?"}}
				if _, err := store.Append(t.Context(), longThread, 0, message); err != nil {
					t.Fatal(err)
				}
				if err := newEngine(t, store).Work(t.Context(), longThread); err != nil {
					t.Fatal(err)
				}
				work[i] = max(work[i], store.reads.Load()+store.shown.Load())
				if work[i] == 0 || work[i] > 500 {
					t.Errorf("turn %d of %d events: %d were read or shown", n, events, work[i])
				}
			}
		}
		if work[1] > 2*work[0] {
			t.Errorf("a turn of the long thread takes %d events, of the short one %d", work[1], work[0])
		}
	})
}

const longThread ponder.ThreadID = "thr_long"

// A longStore is a store with one conversation. It counts the events that it returns.
type longStore struct {
	*memory.Store
	reads, shown atomic.Int64
}

// newLongStore returns a conversation of about so many events, whose runs have ended.
func newLongStore(t *testing.T, events int) *longStore {
	t.Helper()
	all := make([]ponder.Event, 0, events)
	for len(all) < events {
		run := ponder.RunID("run_tally." + string(rune('a'+len(all)%26)) + ponder.NewID("x"))
		all = append(all, ponder.Event{Body: ponder.UserMessage{Content: "so?"}},
			ponder.Event{Run: run, Body: ponder.RunStarted{Mode: "tally", Version: 1}},
			ponder.Event{Run: run, Cause: "say/1.1", Body: ponder.AssistantMessage{Content: "so."}},
			ponder.Event{Run: run, Body: ponder.RunFinished{Status: ponder.Completed, Answer: "so."}})
	}
	s := &longStore{Store: memory.New()}
	if err := s.Create(t.Context(), ponder.Thread{ID: longThread, Kind: ponder.KindConversation}, all...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *longStore) threadHead(t *testing.T) ponder.Seq {
	t.Helper()
	info, err := s.Thread(t.Context(), longThread)
	if err != nil {
		t.Fatal(err)
	}
	return info.Head
}

// Events implements [ponder.Log].
func (s *longStore) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range s.Store.Events(ctx, id, after) {
			s.reads.Add(1)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// A tally answers a message with the number of messages.
type tally struct {
	Said, Answered int

	shown *atomic.Int64
}

func tallyMode(shown *atomic.Int64) ponder.Mode {
	return ponder.Mode{
		Name: "tally", Version: 1, History: true,
		Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		Start: func(ponder.Run) ponder.State { return tally{shown: shown} },
		Carry: func(_ ponder.Run, last ponder.State) ponder.State { return last },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			s := tally{shown: shown}
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
}

func (s tally) Apply(ev ponder.Event) ponder.State {
	s.shown.Add(1)
	switch ev.Body.(type) {
	case ponder.UserMessage:
		s.Said++
	case ponder.AssistantMessage:
		s.Answered = s.Said
	}
	return s
}

func (s tally) Next(ponder.Moment) []ponder.Action {
	answer := fmt.Sprint(s.Said)
	if s.Answered < s.Said {
		return []ponder.Action{ponder.Write{Key: "say", Bodies: []ponder.Body{ponder.AssistantMessage{Content: answer}}}}
	}
	return []ponder.Action{ponder.Finish{Answer: answer}}
}

// newEngine returns an engine that acts as another process.
func newEngine(t *testing.T, s *longStore) *engine.Engine {
	t.Helper()
	eng, err := engine.New(engine.Config{Store: s, Modes: []ponder.Mode{tallyMode(&s.shown)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { eng.Close(context.WithoutCancel(t.Context())) })
	return eng
}
