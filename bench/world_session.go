package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"ponder"
	"ponder/mode/session"
	inmemory "ponder/store/memory"
)

// sessions returns the strategy that is the session mode, run by the engine.
func sessions(parallel int) func(context.Context, *thinker, int) error {
	return func(ctx context.Context, t *thinker, budget int) error {
		_, err := think(ctx, t, session.Options{Parallel: parallel, SynthesisInterval: 86400}, budget)
		return err
	}
}

// think runs a session on the question of a world and returns its events.
func think(ctx context.Context, t *thinker, opts session.Options, budget int) (evs []ponder.Event, err error) {
	store := inmemory.New()
	defer store.Close()
	chain := []ponder.Model{{Model: t, Price: ponder.Price{Source: ponder.PriceTable}}}
	mind, err := ponder.New(ponder.Config{
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
