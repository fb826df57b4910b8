// Package enginetest helps to test modes: start a mind, script a model, read
// the transcript.
//
// Call it inside [testing/synctest.Test], and hours of thinking take no time.
//
//	synctest.Test(t, func(t *testing.T) {
//		mind := pondertest.Start(t, ponder.Config{Modes: ..., Models: pondertest.Model(m)})
//		fin := mind.Ask("session", "what is the sea?", nil, ponder.Budget{Time: time.Minute})
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
	"ponder/llm"
	"ponder/store/memory"
)

// Thread is the thread that a test's mind works on.
const Thread ponder.ThreadID = "thr_test"

// Run is the root run that [Mind.Ask] starts.
const Run ponder.RunID = "run_test"

// A Mind works on [Thread] whenever there is something to do, until the test
// ends or it is stopped.
type Mind struct {
	*ponder.Mind
	Store ponder.Store

	t    *testing.T
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Start starts a mind. It fills in what c lacks, and makes the thread if the
// store has none.
func Start(t *testing.T, c ponder.Config) *Mind {
	t.Helper()
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	m, err := ponder.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := m.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Store.Create(ctx, ponder.Thread{ID: Thread, Kind: ponder.KindSession}); err != nil && !errors.Is(err, ponder.ErrTaken) {
		t.Fatal(err)
	}
	mind := &Mind{Mind: m, Store: c.Store, t: t, stop: cancel}
	mind.wg.Go(func() { mind.work(ctx) })
	t.Cleanup(mind.Stop)
	return mind
}

// work works on the thread each time it has grown.
func (m *Mind) work(ctx context.Context) {
	heads, stop := m.Store.Watch(Thread)
	defer stop()
	for ctx.Err() == nil {
		err := m.Work(ctx, Thread)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ponder.ErrFenced) && !errors.Is(err, ponder.ErrHeld) {
			m.t.Errorf("work: %v", err)
			return
		}
		select {
		case <-heads:
		case <-ctx.Done():
		}
	}
}

// Stop stops the mind as a process that ends: what is in flight is left open.
func (m *Mind) Stop() {
	if m.stop == nil {
		return
	}
	m.stop()
	m.wg.Wait()
	m.stop = nil
	if err := m.Close(context.Background()); err != nil && !errors.Is(err, ponder.ErrFenced) {
		m.t.Errorf("close: %v", err)
	}
}

// Put appends an input; one that was put already is not put again.
func (m *Mind) Put(run ponder.RunID, cause string, body ponder.Body) {
	m.t.Helper()
	_, err := m.Store.Append(m.t.Context(), Thread, 0, ponder.Event{Run: run, Cause: cause, Body: body})
	if err != nil && !errors.Is(err, ponder.ErrTaken) {
		m.t.Fatal(err)
	}
}

// Ask starts [Run] and waits for it to finish.
func (m *Mind) Ask(mode, input string, options any, budget ponder.Budget) ponder.RunFinished {
	m.t.Helper()
	js, err := json.Marshal(options)
	if err != nil {
		m.t.Fatal(err)
	}
	if options == nil {
		js = nil
	}
	m.Put(Run, "", ponder.RunStarted{Mode: mode, Input: input, Options: js, Budget: budget})
	return m.Await(Run)
}

// Await waits for a run to finish.
func (m *Mind) Await(run ponder.RunID) ponder.RunFinished {
	m.t.Helper()
	fin, err := ponder.Await(m.t.Context(), m.Store, Thread, run)
	if err != nil {
		m.t.Fatal(err)
	}
	return fin
}

// Events returns the thread.
func (m *Mind) Events() []ponder.Event { return Events(m.t, m.Store) }

// Events returns the thread in a store.
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

// Copy returns events of the thread as another store can be given them, with the
// requests that stand in the ledger.
func (m *Mind) Copy(evs []ponder.Event) []ponder.Event {
	m.t.Helper()
	evs = slices.Clone(evs)
	for i, ev := range evs {
		evs[i].After = 0
		b, ok := ev.Body.(ponder.CallStarted)
		if !ok || b.Held == (ponder.Cost{}) {
			continue // refused: it was never asked
		}
		req, err := m.Store.Request(m.t.Context(), Thread, ev.Run, ev.Cause)
		if err != nil || req == nil {
			m.t.Fatalf("request of %s: %v", ev.Cause, err)
		}
		b.Request = req
		evs[i].Body = b
	}
	return evs
}

// Lines returns events without what may differ between two runs of the same
// thing, sorted: places, ids, times, and the order in which what goes on at
// once ends.
func Lines(evs []ponder.Event) (lines []string) {
	for _, ev := range evs {
		lines = append(lines, Line(ev))
	}
	slices.Sort(lines)
	return lines
}

// Line returns an event without its place, ids, times and guesses.
func Line(ev ponder.Event) string {
	switch b := ev.Body.(type) {
	case ponder.CallFinished:
		b.Took, b.RetryAt, b.NotBefore = 0, time.Time{}, time.Time{}
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
