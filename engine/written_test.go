package engine_test

import (
	"slices"
	"testing"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
)

// A writer is the state of a mode that writes three thoughts, and finishes after the last.
type writer struct{ done bool }

func (s writer) Apply(ev ponder.Event) ponder.State {
	s.done = s.done || ev.Cause == "x/3.3"
	return s
}

func (s writer) Next(ponder.Moment) []ponder.Action {
	if s.done {
		return []ponder.Action{ponder.Finish{Answer: "done"}}
	}
	return []ponder.Action{ponder.Write{Key: "x", Bodies: []ponder.Body{
		ponder.Thought{Content: "1"}, ponder.Thought{Content: "2"}, ponder.Thought{Content: "3"},
	}}}
}

// TestPartialWrite completes a partial Write after an input that has the cause of its first
// event, as any client may send.
func TestPartialWrite(t *testing.T) {
	store := openSQLite(t)
	thought := func(cause, text string) ponder.Event {
		return ponder.Event{Run: enginetest.Run, Cause: cause, Body: ponder.Thought{Content: text}}
	}
	err := store.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession},
		ponder.Event{Run: enginetest.Run, Body: ponder.RunStarted{Mode: "writer", Input: "?"}}, thought("x/1.3", "1"), thought("x/2.3", "2"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Append(t.Context(), "thr_1", 0, ponder.Event{Run: enginetest.Run, Cause: "x/1.3", Body: ponder.UserMessage{Content: "hi"}}); err != nil {
		t.Fatal(err)
	}
	c := newConfig(&fake{})
	c.Store, c.Modes = store, append(c.Modes, ponder.Mode{Name: "writer", Version: 1, Start: func(ponder.Run) ponder.State { return writer{} }})
	eng, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := eng.Work(t.Context(), "thr_1"); err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, ev := range threadEvents(t, store, "thr_1") {
		if b, ok := ev.Body.(ponder.Thought); ok {
			got = append(got, b.Content)
		}
	}
	if !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("written is %q", got)
	}
}
