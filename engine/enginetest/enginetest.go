// Package enginetest helps to test modes. It starts an engine on one thread and reads the
// transcript.
//
// Inside [testing/synctest.Test], hours of thinking take no time:
//
//	synctest.Test(t, func(t *testing.T) {
//		e := enginetest.Start(t, engine.Config{Modes: ..., Models: enginetest.Models(m, price)})
//		fin := e.Ask("session", "how deep is the sea?", nil, ponder.Budget{Time: time.Minute})
//	})
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/store/memory"
)

// Thread is the thread of the engine of a test.
const Thread ponder.ThreadID = "thr_test"

// Run is the root run that [Engine.Ask] starts.
const Run ponder.RunID = "run_test"

// An Engine works on [Thread] while there is work, until the test ends or calls Stop.
type Engine struct {
	*engine.Engine
	Store ponder.Store

	t    *testing.T
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Start starts an engine with the configuration c. It creates a store in memory if c has
// none, and the thread if the store has none.
func Start(t *testing.T, c engine.Config) *Engine {
	t.Helper()
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	started, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := started.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Store.Create(ctx, ponder.Thread{ID: Thread, Kind: ponder.KindSession}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		t.Fatal(err)
	}
	e := &Engine{Engine: started, Store: c.Store, t: t, stop: cancel}
	e.wg.Go(func() { e.workLoop(ctx) })
	t.Cleanup(e.Stop)
	return e
}

// workLoop works on the thread after each growth.
func (e *Engine) workLoop(ctx context.Context) {
	heads, stop := e.Store.Watch(Thread)
	defer stop()
	for ctx.Err() == nil {
		err := e.Work(ctx, Thread)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ponder.ErrFenced) && !errors.Is(err, ponder.ErrHeld) {
			e.t.Errorf("work: %v", err)
			return
		}
		select {
		case <-heads:
		case <-ctx.Done():
		}
	}
}

// Stop stops the engine as the end of its process would: actions in flight stay open.
func (e *Engine) Stop() {
	if e.stop == nil {
		return
	}
	e.stop()
	e.wg.Wait()
	e.stop = nil
	if err := e.Close(context.Background()); err != nil && !errors.Is(err, ponder.ErrFenced) {
		e.t.Errorf("close: %v", err)
	}
}

// Put appends an input, unless the thread has it already.
func (e *Engine) Put(run ponder.RunID, cause string, body ponder.Body) {
	e.t.Helper()
	_, err := e.Store.Append(e.t.Context(), Thread, 0, ponder.Event{Run: run, Cause: cause, Body: body})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		e.t.Fatal(err)
	}
}

// Ask starts [Run] and returns its end.
func (e *Engine) Ask(mode, input string, options any, budget ponder.Budget) ponder.RunFinished {
	e.t.Helper()
	js, err := json.Marshal(options)
	if err != nil {
		e.t.Fatal(err)
	}
	if options == nil {
		js = nil
	}
	e.Put(Run, "", ponder.RunStarted{Mode: mode, Input: input, Options: js, Budget: budget})
	return e.Await(Run)
}

// Await returns the end of a run.
func (e *Engine) Await(run ponder.RunID) ponder.RunFinished {
	e.t.Helper()
	fin, err := ponder.Await(e.t.Context(), e.Store, Thread, run)
	if err != nil {
		e.t.Fatal(err)
	}
	return fin
}

// Events returns the events of the thread.
func (e *Engine) Events() []ponder.Event { return Events(e.t, e.Store) }

// Events returns the events of the thread in a store.
func Events(t *testing.T, log ponder.Log) (all []ponder.Event) {
	t.Helper()
	for ev, err := range log.Events(t.Context(), Thread, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// Copy returns events of the thread for [ponder.Store.Create] of another store, with the
// requests of the ledger.
func (e *Engine) Copy(evs []ponder.Event) []ponder.Event {
	e.t.Helper()
	evs = slices.Clone(evs)
	for i, ev := range evs {
		evs[i].After = 0
		b, ok := ev.Body.(ponder.CallStarted)
		if !ok || b.Reserved == (ponder.Cost{}) {
			continue // a refused call has no request
		}
		req, err := e.Store.Request(e.t.Context(), Thread, ev.Run, ev.Cause)
		if err != nil || req == nil {
			e.t.Fatalf("request of %s: %v", ev.Cause, err)
		}
		b.Request = req
		evs[i].Body = b
	}
	return evs
}

// Lines returns the sorted lines of events: see [Line]. Two runs of the same thread have
// equal lines.
func Lines(evs []ponder.Event) (lines []string) {
	for _, ev := range evs {
		lines = append(lines, Line(ev))
	}
	slices.Sort(lines)
	return lines
}

// Line returns an event without its place, ids, times and estimates.
func Line(ev ponder.Event) string {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		b.Took, b.First, b.RetryAt, b.NotBefore = 0, 0, time.Time{}, time.Time{}
		ev.Body = b
	case ponder.Thought:
		b.Offset = 0
		ev.Body = b
	case ponder.SubQuestion:
		b.Offset = 0
		ev.Body = b
	case ponder.Synthesis:
		b.Offset = 0
		ev.Body = b
	}
	js, err := json.Marshal(ponder.Event{Thread: ev.Thread, Run: ev.Run, Cause: ev.Cause, Internal: ev.Internal, Body: ev.Body})
	if err != nil {
		return fmt.Sprintf("%s: %v", ev.Body.Type(), err)
	}
	return string(js)
}

// Models returns a chain of one model for every role.
func Models(m llm.Model, price ponder.Price) map[ponder.Role][]ponder.Model {
	chain := []ponder.Model{{Model: m, Price: price}}
	return map[ponder.Role][]ponder.Model{ponder.Fast: chain, ponder.Slow: chain, ponder.Cheap: chain, ponder.Frontier: chain}
}
