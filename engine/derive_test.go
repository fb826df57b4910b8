package engine_test

import (
	"context"
	"errors"
	"testing"

	"ponder"
	"ponder/engine"
	"ponder/store/memory"
)

// Two engines of one process work on threads with different modes as one node.
func TestDerive(t *testing.T) {
	says := func(answer string) []ponder.Mode {
		return []ponder.Mode{{Name: "says", Start: func(ponder.Run) ponder.State { return fixedAnswer(answer) }}}
	}
	store := memory.New()
	one, err := engine.New(engine.Config{Store: store, Modes: says("one"), Node: ponder.Node{ID: "nod_1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.Derive(engine.Config{}); err == nil {
		t.Error("an engine without modes")
	}
	two, err := one.Derive(engine.Config{Modes: says("two"), Node: ponder.Node{ID: "nod_2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want, eng := range map[string]*engine.Engine{"one": one, "two": two} {
		id := ponder.ThreadID("thr_" + want)
		start := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "says"}}
		if err := store.Create(t.Context(), ponder.Thread{ID: id}, start); err != nil {
			t.Fatal(err)
		}
		if err := eng.Work(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if fin, err := ponder.Await(t.Context(), store, id, "run_1"); err != nil || fin.Answer != want {
			t.Errorf("%s answered %q (%v)", want, fin.Answer, err)
		}
	}
	nodes, err := store.AllNodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].ID != "nod_1" {
		t.Errorf("nodes %+v (%v)", nodes, err)
	}
	if err := one.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	err = two.Work(t.Context(), "thr_one")
	if !errors.Is(err, ponder.ErrFenced) && !errors.Is(err, context.Canceled) { // the first to notice decides
		t.Errorf("worked after the end: %v", err)
	}
}

// fixedAnswer is a run that finishes with an answer.
type fixedAnswer string

func (s fixedAnswer) Apply(ponder.Event) ponder.State { return s }
func (s fixedAnswer) Next(ponder.Moment) []ponder.Action {
	return []ponder.Action{ponder.Finish{Answer: string(s)}}
}
