package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"ponder"
	"ponder/engine"
	"ponder/mode/session"
	inmemory "ponder/store/memory"
)

// sessionStrategy returns the strategy that runs the session mode in the engine.
func sessionStrategy(parallel int) func(context.Context, *thinker, int) error {
	return func(ctx context.Context, t *thinker, budget int) error {
		_, err := runSession(ctx, t, session.Options{Parallel: parallel, SynthesisInterval: 86400}, budget)
		return err
	}
}

// runSession runs a session on the question of a world and returns its events.
func runSession(ctx context.Context, t *thinker, opts session.Options, budget int) (evs []ponder.Event, err error) {
	store := inmemory.New()
	defer store.Close()
	chain := []ponder.Model{{Model: t, Price: ponder.Price{Source: ponder.PriceTable}}}
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New()}, Logger: slog.New(slog.DiscardHandler),
		Models: map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain, ponder.Fast: chain, ponder.Cheap: chain},
	})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, err
	}
	defer mind.Close(context.WithoutCancel(ctx))
	options, err := json.Marshal(opts)
	if err != nil {
		return nil, err
	}
	const thread, run = ponder.ThreadID("thr_world"), ponder.RunID("run_world")
	start := ponder.Event{Run: run, Body: ponder.RunStarted{
		Mode: session.Name, Input: t.question, Options: options, Budget: ponder.Budget{Cost: ponder.Cost{Calls: budget}},
	}}
	if err := store.Create(ctx, ponder.Thread{ID: thread, Kind: ponder.KindSession}, start); err != nil {
		return nil, err
	}
	if err := mind.Work(ctx, thread); err != nil {
		return nil, err
	}
	fin, err := ponder.Await(ctx, store, thread, run)
	if err != nil {
		return nil, err
	}
	if fin.Status != ponder.Completed {
		return nil, fmt.Errorf("session %s: %s", fin.Status, fin.Reason)
	}
	for ev, err := range store.Events(ctx, thread, 0) {
		if err != nil {
			return nil, err
		}
		evs = append(evs, ev)
	}
	return evs, nil
}

// measureMerging measures how well a session recognises repetitions: the share of facts wrongly dropped
// as repetitions, and the share of repetitions wrongly kept as new.
func measureMerging(ctx context.Context, list []*world) ([]figure, error) {
	var lost, twice []float64
	for _, w := range list {
		t := &thinker{world: w}
		evs, err := runSession(ctx, t, session.Options{SynthesisInterval: 86400}, regretBudget)
		if err != nil {
			return nil, err
		}
		l, m := w.mergeShares(t.calls, evs)
		lost, twice = append(lost, l), append(twice, m)
	}
	return []figure{meanPercent("session: new facts lost by merging", lost), meanPercent("session: thoughts that repeat a known fact", twice)}, nil
}

// mergeShares returns the share of stated facts in no thought, and the share of single-fact thoughts
// that repeat an earlier thought.
func (w *world) mergeShares(calls []callResult, evs []ponder.Event) (lost, twice float64) {
	kept, thoughts := make(map[int]bool), 0
	for _, ev := range evs {
		b, ok := ev.Body.(ponder.Thought)
		if !ok {
			continue
		}
		thoughts++
		known, has := true, w.factsNamed(b.Content)
		for _, f := range has {
			known, kept[f] = known && kept[f], true
		}
		if known && len(has) == 1 {
			twice++
		}
	}
	said := make(map[int]bool)
	for _, c := range calls {
		for _, f := range c.facts {
			said[f] = true
			if !kept[f] {
				lost++
			}
		}
	}
	return lost / float64(max(1, len(said))), twice / float64(max(1, thoughts))
}

func (w *world) factsNamed(text string) (facts []int) {
	for i, f := range w.facts {
		if strings.Contains(text, f.name) {
			facts = append(facts, i)
		}
	}
	return facts
}
