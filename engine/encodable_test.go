package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/store/memory"
	"ponder/store/sqlite"
)

// unfit has decisions that cannot be stored.
func unfit() map[string]ponder.Action {
	half := json.RawMessage(`{"q":`)
	schema := ask("?")
	schema.Schema = &llm.Schema{Name: "s", JSON: half}
	return map[string]ponder.Action{
		"a confidence that is no number": ponder.Finish{Answer: "x", Confidence: math.NaN()},
		"half an input of a tool":        ponder.Do{Key: "t", Tool: "look", Args: half},
		"half a schema":                  ponder.Call{Key: "c", Role: ponder.Fast, Request: schema},
		"half the options of a child":    ponder.Spawn{Key: "s", Mode: "steps", Options: half},
		"a date of another age": ponder.Write{Key: "w", Bodies: []ponder.Body{
			ponder.Thought{Content: "so"}, ponder.Evidence{ID: "e", Published: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		}},
	}
}

// A run that decides what cannot be stored fails and says so; others go on.
func TestUnfitDecisions(t *testing.T) {
	for name, action := range unfit() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := config(new(fake))
				c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action { return []ponder.Action{action, ponder.Finish{Answer: "x"}} }))
				mind := enginetest.Start(t, c)
				mind.Put("run_other", "", ponder.RunStarted{Mode: "steps", Input: "?"})
				mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
				if fin := mind.Await(enginetest.Run); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "cannot be stored") {
					t.Errorf("finished %s: %q", fin.Status, fin.Reason)
				}
				if fin := mind.Await("run_other"); fin.Status != ponder.Completed {
					t.Errorf("the other run finished %s: %q", fin.Status, fin.Reason)
				}
			})
		})
	}
}

// The same in SQLite.
func TestUnfitDecisionsInSQLite(t *testing.T) {
	for name, action := range unfit() {
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			c := config(new(fake))
			c.Store = store
			c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action { return []ponder.Action{action} }))
			mind := enginetest.Start(t, c)
			defer mind.Stop()
			if fin := start(t, mind, "odd", ponder.Budget{}); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "cannot be stored") {
				t.Errorf("finished %s: %q", fin.Status, fin.Reason)
			}
		})
	}
}

// hostile is a model that calls a tool with half an input.
type hostile struct{}

func (hostile) Name() string { return "fake/model" }

func (hostile) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	call := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "look", Input: json.RawMessage(`{"q`)}}}}
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Done: &llm.Response{Message: call, Finish: llm.FinishTools, Model: "fake/model", Usage: llm.Usage{Input: 1, Output: 1}}}, nil)
	}
}

// An answer that cannot be stored is malformed, and paid for.
func TestUnfitAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(nil)
		c.Models = enginetest.Models(hostile{}, price)
		mind := enginetest.Start(t, c)
		fin := start(t, mind, "steps", ponder.Budget{})
		if fin.Status != ponder.Completed || fin.Spent.Calls != 5 || fin.Spent.Money == 0 {
			t.Errorf("finished %+v", fin)
		}
		for _, ev := range mind.Events() {
			if b, ok := ev.Body.(ponder.CallFinished); ok && (b.Class != llm.Malformed || b.Dropped || len(b.Message.Parts) > 0) {
				t.Errorf("%s ended with %s: %q", ev.Cause, b.Class, b.Error)
			}
		}
	})
}

// narrow is a store that takes few bytes at once.
type narrow struct {
	ponder.Store
	most int
}

func (s narrow) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	sum := 0
	for _, ev := range evs {
		js, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		sum += len(js)
	}
	if sum > s.most {
		return nil, fmt.Errorf("%d bytes: %w", sum, ponder.ErrTooBig)
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// A run that decides more than the store takes at once fails; others go on.
func TestTooBig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(new(fake))
		c.Store = narrow{memory.New(), 20_000}
		c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action {
			return []ponder.Action{ponder.Write{Key: "w", Bodies: []ponder.Body{ponder.Thought{Content: strings.Repeat("a", 30_000)}}}}
		}))
		mind := enginetest.Start(t, c)
		mind.Put("run_other", "", ponder.RunStarted{Mode: "steps", Input: "?"})
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
		if fin := mind.Await(enginetest.Run); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "too big") {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
		if fin := mind.Await("run_other"); fin.Status != ponder.Completed {
			t.Errorf("the other run finished %s: %q", fin.Status, fin.Reason)
		}
	})
}

// Whoever tells a thread what cannot be stored hears of it, and the thread goes on.
func TestUnfitInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mind := enginetest.Start(t, config(new(fake)))
		mind.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(time.Second)
		half := ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Do: "hint", Args: json.RawMessage(`{"q":`)}}
		started := func(context.Context) error { return nil } // it is worked on
		if stored, err := mind.Post(t.Context(), enginetest.Thread, started, half); err == nil || stored != nil {
			t.Errorf("told: %v", err)
		}
		if fin := mind.Await(enginetest.Run); fin.Status != ponder.Completed {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
	})
}
