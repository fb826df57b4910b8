package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// A load is many concurrent sessions on one database with a simulated model.
type load struct {
	sessions int
	calls    int           // per session
	mean     time.Duration // duration of a call
	jitter   float64
}

type loadRig struct {
	meter *meter
	store *sqlite.Store
	mind  *engine.Engine
	close func()
}

func (l load) buildRig(ctx context.Context) (r *loadRig, err error) {
	base, stop, err := startSim(ctx, llmtest.SimConfig{Seed: 1, FirstToken: llmtest.Delay{Mean: l.mean, Jitter: l.jitter}, Chunks: 4})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"))
	if err != nil {
		return nil, err
	}
	provider := openai.New(openai.Config{Name: "sim", BaseURL: base + "/v1", Key: "any"})
	m := newMeter(provider.Model("model"), l.sessions)
	chain := []ponder.Model{{Model: m, Price: ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}}}
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New()}, Logger: slog.New(slog.DiscardHandler),
		Models: map[ponder.Role][]ponder.Model{ponder.Slow: chain, ponder.Frontier: chain, ponder.Fast: chain},
	})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, err
	}
	return &loadRig{m, store, mind, func() {
		_ = mind.Close(context.WithoutCancel(ctx))
		store.Close()
		os.RemoveAll(dir)
		stop()
	}}, nil
}

// startSessions creates and runs the sessions. wait blocks until they end and returns their durations.
func (l load) startSessions(ctx context.Context, r *loadRig) (wait func() ([]time.Duration, error), err error) {
	options, err := json.Marshal(session.Options{SynthesisInterval: 3600, ToTheEnd: true})
	if err != nil {
		return nil, err
	}
	ids := make([]ponder.ThreadID, l.sessions)
	for i := range ids {
		ids[i] = ponder.ThreadID(fmt.Sprintf("thr_%06d", i))
		ev := ponder.Event{Run: ponder.RunID(fmt.Sprintf("run_%06d", i)), Body: ponder.RunStarted{
			Mode: session.Name, Input: fmt.Sprintf("#%d# What makes a good question?", i), Options: options,
			Budget: ponder.Budget{Cost: ponder.Cost{Calls: l.calls}},
		}}
		if err := r.store.Create(ctx, ponder.Thread{ID: ids[i], Kind: ponder.KindSession}, ev); err != nil {
			return nil, err
		}
	}
	took, errs := make([]time.Duration, l.sessions), make([]error, l.sessions)
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			began := time.Now()
			errs[i] = r.mind.Work(ctx, id)
			took[i] = time.Since(began)
		})
	}
	return func() ([]time.Duration, error) {
		wg.Wait()
		return took, errors.Join(errs...)
	}, nil
}
