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

// unstorableActions returns actions that cannot be stored.
func unstorableActions() map[string]ponder.Action {
	half := json.RawMessage(`{"q":`)
	schema := newRequest("?")
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

// A run fails with a reason if its decision cannot be stored. Other runs continue.
func TestUnstorableDecisions(t *testing.T) {
	for name, action := range unstorableActions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newConfig(new(fake))
				c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action { return []ponder.Action{action, ponder.Finish{Answer: "x"}} }))
				eng := enginetest.Start(t, c)
				eng.Put("run_other", "", ponder.RunStarted{Mode: "steps", Input: "?"})
				eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
				if fin := eng.Await(enginetest.Run); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "cannot be stored") {
					t.Errorf("finished %s: %q", fin.Status, fin.Reason)
				}
				if fin := eng.Await("run_other"); fin.Status != ponder.Completed {
					t.Errorf("the other run finished %s: %q", fin.Status, fin.Reason)
				}
			})
		})
	}
}

func TestUnstorableDecisionsInSQLite(t *testing.T) {
	for name, action := range unstorableActions() {
		t.Run(name, func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			c := newConfig(new(fake))
			c.Store = store
			c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action { return []ponder.Action{action} }))
			eng := enginetest.Start(t, c)
			defer eng.Stop()
			if fin := runMode(t, eng, "odd", ponder.Budget{}); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "cannot be stored") {
				t.Errorf("finished %s: %q", fin.Status, fin.Reason)
			}
		})
	}
}

// malformedModel is a model that calls a tool with truncated JSON.
type malformedModel struct{}

func (malformedModel) Name() string { return "fake/model" }

func (malformedModel) Generate(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	call := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: "1", Name: "look", Input: json.RawMessage(`{"q`)}}}}
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{Done: &llm.Response{Message: call, Finish: llm.FinishTools, Model: "fake/model", Usage: llm.Usage{Input: 1, Output: 1}}}, nil)
	}
}

// An answer that cannot be stored is malformed, and the run pays for it.
func TestUnstorableAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(nil)
		c.Models = enginetest.Models(malformedModel{}, price)
		eng := enginetest.Start(t, c)
		fin := runMode(t, eng, "steps", ponder.Budget{})
		if fin.Status != ponder.Completed || fin.Spent.Calls != 5 || fin.Spent.Money == 0 {
			t.Errorf("finished %+v", fin)
		}
		for _, ev := range eng.Events() {
			if b, ok := ev.Body.(ponder.CallFinished); ok && (b.Class != llm.Malformed || b.Dropped || len(b.Message.Parts) > 0) {
				t.Errorf("%s ended with %s: %q", ev.Cause, b.Class, b.Error)
			}
		}
	})
}

// narrowStore is a store that limits the bytes of an append.
type narrowStore struct {
	ponder.Store
	maxBytes int
}

func (s narrowStore) Append(ctx context.Context, id ponder.ThreadID, f ponder.Fence, evs ...ponder.Event) ([]ponder.Event, error) {
	sum := 0
	for _, ev := range evs {
		js, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		sum += len(js)
	}
	if sum > s.maxBytes {
		return nil, fmt.Errorf("%d bytes: %w", sum, ponder.ErrTooBig)
	}
	return s.Store.Append(ctx, id, f, evs...)
}

// A run fails if its decision is larger than the store accepts. Other runs continue.
func TestTooBig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConfig(new(fake))
		c.Store = narrowStore{memory.New(), 20_000}
		c.Modes = append(c.Modes, oddMode(func(int) []ponder.Action {
			return []ponder.Action{ponder.Write{Key: "w", Bodies: []ponder.Body{ponder.Thought{Content: strings.Repeat("a", 30_000)}}}}
		}))
		eng := enginetest.Start(t, c)
		eng.Put("run_other", "", ponder.RunStarted{Mode: "steps", Input: "?"})
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "odd", Input: "?"})
		if fin := eng.Await(enginetest.Run); fin.Status != ponder.Failed || !strings.Contains(fin.Reason, "batch is too large") {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
		if fin := eng.Await("run_other"); fin.Status != ponder.Completed {
			t.Errorf("the other run finished %s: %q", fin.Status, fin.Reason)
		}
	})
}

// Post returns an error for inputs that cannot be stored, and the thread continues.
func TestUnstorableInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eng := enginetest.Start(t, newConfig(new(fake)))
		eng.Put(enginetest.Run, "", ponder.RunStarted{Mode: "steps", Input: "?"})
		time.Sleep(time.Second)
		half := ponder.Event{Run: enginetest.Run, Body: ponder.Steer{Do: "hint", Args: json.RawMessage(`{"q":`)}}
		started := func(context.Context) error { return nil } // a process works on it
		if stored, err := eng.Post(t.Context(), enginetest.Thread, started, half); err == nil || stored != nil {
			t.Errorf("told: %v", err)
		}
		if fin := eng.Await(enginetest.Run); fin.Status != ponder.Completed {
			t.Errorf("finished %s: %q", fin.Status, fin.Reason)
		}
	})
}
