package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/store/memory"
)

// talk is the state of a mode that answers each message with the recent messages. A steer
// silences the mode for the rest of the run.
type talk struct {
	Run   ponder.RunID
	Said  []string
	Asked int // messages since the start of this run
	Hush  bool

	shown *atomic.Int64
}

func talkMode(shown *atomic.Int64, carry bool) ponder.Mode {
	m := ponder.Mode{
		Name: "talk", Version: 1, History: true,
		Wakes: func(ev ponder.Event) bool { _, ok := ev.Body.(ponder.UserMessage); return ok },
		Start: func(r ponder.Run) ponder.State { return talk{Run: r.ID, shown: shown} },
		Load: func(_ ponder.Run, js []byte) (ponder.State, error) {
			s := talk{shown: shown}
			err := json.Unmarshal(js, &s)
			return s, err
		},
	}
	if carry {
		m.Carry = func(r ponder.Run, last ponder.State) ponder.State {
			return talk{Run: r.ID, Said: last.(talk).Said, shown: shown}
		}
	}
	return m
}

func (s talk) Apply(ev ponder.Event) ponder.State {
	s.shown.Add(1)
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		s.Said = append(slices.Clip(s.Said), b.Content)
	case ponder.AssistantMessage:
		s.Said = append(slices.Clip(s.Said), fmt.Sprintf("%d letters", len(b.Content)))
	case ponder.Steer:
		s.Hush = true
	}
	return s
}

func (s talk) Next(ponder.Moment) []ponder.Action {
	answer := strings.Join(s.Said[max(0, len(s.Said)-3):], ", ") + fmt.Sprintf(" (%d)", len(s.Said))
	if s.Hush {
		answer = "hush"
	}
	if n := len(s.Said); n > 0 && !strings.HasSuffix(s.Said[n-1], "letters") {
		return []ponder.Action{ponder.Write{Key: "say", Bodies: []ponder.Body{ponder.AssistantMessage{Content: answer}}}}
	}
	return []ponder.Action{ponder.Finish{Answer: answer}}
}

// TestCarry runs one conversation with a mode that carries its state over and with a mode
// that reads the history each time. It restarts the process now and then, and expects the
// same answers.
func TestCarry(t *testing.T) {
	const turns = 150
	converse := func(t *testing.T, carry bool) (answers []string, shown int64) {
		var count atomic.Int64
		eng := enginetest.Start(t, engine.Config{Modes: []ponder.Mode{talkMode(&count, carry)}})
		for i := range turns {
			if i%37 == 36 {
				store := eng.Store
				eng.Stop()
				eng = enginetest.Start(t, engine.Config{Store: store, Modes: []ponder.Mode{talkMode(&count, carry)}})
			}
			if i%50 == 20 { // between the turns: no run observes it
				eng.Put("", fmt.Sprintf("steer-%d", i), ponder.Steer{Do: ponder.AnswerNow})
			}
			eng.Put("", fmt.Sprintf("say-%d", i), ponder.UserMessage{Content: fmt.Sprintf("message %d", i)})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		for _, ev := range eng.Events() {
			if b, ok := ev.Body.(ponder.RunFinished); ok {
				answers = append(answers, string(ev.Run)+": "+b.Answer)
			}
		}
		eng.Stop()
		return answers, count.Load()
	}
	var all [2][]string
	var shown [2]int64
	for i, carry := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { all[i], shown[i] = converse(t, carry) })
	}
	if len(all[0]) != turns || !slices.Equal(all[0], all[1]) {
		t.Errorf("%d answers with the history, %d carried on; the last are %q and %q", len(all[0]), len(all[1]), all[0][len(all[0])-1], all[1][len(all[1])-1])
	}
	if 4*shown[1] > shown[0] {
		t.Errorf("the mode was shown %d events with the history and %d carried on", shown[0], shown[1])
	}
}

// countingStore is a store that counts the events it returns.
type countingStore struct {
	ponder.Store
	events atomic.Int64
}

func (s *countingStore) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range s.Store.Events(ctx, id, after) {
			s.events.Add(1)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestStateCache changes the thread between the turns: another engine takes a turn, or
// events are erased. An engine may use its cached state only if neither happened.
func TestStateCache(t *testing.T) {
	var shown atomic.Int64
	store := &countingStore{Store: memory.New()}
	open := func() *engine.Engine {
		eng, err := engine.New(engine.Config{Store: store, Modes: []ponder.Mode{talkMode(&shown, true)}})
		if err == nil {
			err = eng.Open(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { eng.Close(context.Background()) })
		return eng
	}
	eng, other := open(), open()
	if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindConversation}); err != nil {
		t.Fatal(err)
	}
	answer := func(m *engine.Engine, text string) (answer string, read int64) {
		t.Helper()
		before := store.events.Load()
		stored, err := store.Append(t.Context(), enginetest.Thread, 0, ponder.Event{Body: ponder.UserMessage{Content: text}})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Work(t.Context(), enginetest.Thread); err != nil {
			t.Fatal(err)
		}
		read = store.events.Load() - before
		for ev, err := range store.Store.Events(t.Context(), enginetest.Thread, stored[0].Seq) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := ev.Body.(ponder.AssistantMessage); ok {
				answer = b.Content
			}
		}
		return answer, read
	}
	for i, turn := range []struct {
		eng   *engine.Engine
		erase ponder.Seq
		say   string
		want  string
		read  int64 // upper limit; 0: the whole thread
	}{
		{eng, 0, "a", "a (1)", 2},
		{eng, 0, "b", "a, 5 letters, b (3)", 2},
		{eng, 0, "c", "b, 19 letters, c (5)", 2},
		{other, 0, "d", "c, 20 letters, d (7)", 0},
		{eng, 0, "e", "d, 20 letters, e (9)", 0},
		{eng, 0, "f", "e, 20 letters, f (11)", 2},
		{eng, 1, "g", "f, 21 letters, g (13)", 0},
		{eng, 0, "h", "g, 21 letters, h (15)", 2},
	} {
		if turn.erase > 0 {
			if err := store.Erase(t.Context(), enginetest.Thread, turn.erase); err != nil {
				t.Fatal(err)
			}
		}
		got, read := answer(turn.eng, turn.say)
		if got != turn.want || turn.read > 0 && read > turn.read || turn.read == 0 && read < 3 {
			t.Errorf("turn %d: %q after %d events were read", i+1, got, read)
		}
	}
}

// TestCarryOfHistory lets new engines take turns on a long thread that no run has read.
// Only the first engine reads the whole thread.
func TestCarryOfHistory(t *testing.T) {
	const long = 1000
	var shown atomic.Int64
	store := &countingStore{Store: memory.New()}
	var messages []ponder.Event
	for i := range long {
		messages = append(messages, ponder.Event{Body: ponder.AssistantMessage{Content: fmt.Sprint(i)}})
	}
	if err := store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindConversation}, messages...); err != nil {
		t.Fatal(err)
	}
	talk := engine.Config{Store: store, Modes: []ponder.Mode{talkMode(&shown, true)}}
	for turn := range 4 {
		eng, err := engine.New(talk)
		if err == nil {
			err = eng.Open(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		if turn > 0 { // the first engine only reads, because there is no state to carry over yet
			if _, err := store.Append(t.Context(), enginetest.Thread, 0, ponder.Event{Body: ponder.UserMessage{Content: "next"}}); err != nil {
				t.Fatal(err)
			}
		}
		before := store.events.Load()
		if turn == 0 {
			err = eng.Fold(t.Context(), enginetest.Thread)
		} else {
			err = eng.Work(t.Context(), enginetest.Thread)
		}
		if err := errors.Join(err, eng.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		if read := store.events.Load() - before; turn > 1 && read > 20 {
			t.Errorf("turn %d: %d events were read", turn, read)
		}
	}
}
