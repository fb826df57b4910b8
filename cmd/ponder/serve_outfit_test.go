package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ponder"
	"ponder/internal/access"
	"ponder/internal/config"
	"ponder/internal/httpapi"
	"ponder/store/sqlite"
)

// Threads of one outfit share a mind, which is closed once nobody uses it any more.
func TestWardrobe(t *testing.T) {
	var made, ended atomic.Int64
	w := &wardrobe{list: make(map[string]*worn), make: func(o outfit) (*ponder.Mind, func(), error) {
		if o.Model == "none" {
			return nil, nil, errors.New("no such model")
		}
		made.Add(1)
		return &ponder.Mind{}, func() { ended.Add(1) }, nil
	}}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, leave, err := w.wear(t.Context(), outfit{Model: "a"})
			if err != nil {
				t.Error(err)
				return
			}
			leave()
		})
	}
	wg.Wait()
	if made.Load() != 1 || ended.Load() != 0 {
		t.Errorf("made %d, ended %d", made.Load(), ended.Load())
	}
	if _, _, err := w.wear(t.Context(), outfit{Model: "none"}); err == nil || len(w.list) != 1 {
		t.Errorf("%v, and %d are kept", err, len(w.list))
	}
	_, leave, err := w.wear(t.Context(), outfit{Model: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range w.list {
		one.made = one.made.Add(-2 * mindLife) // it is used, but made anew for the next
	}
	_, other, err := w.wear(t.Context(), outfit{Model: "a"})
	if err != nil || made.Load() != 2 || ended.Load() != 0 {
		t.Fatalf("%v: made %d, ended %d", err, made.Load(), ended.Load())
	}
	leave()
	other()
	for i := range 3 * maxResting {
		if _, leave, err = w.wear(t.Context(), outfit{Model: "m", Persona: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
		leave()
	}
	if len(w.list) > maxResting {
		t.Errorf("%d are kept", len(w.list))
	}
	w.close()
	for ended.Load() < made.Load() { // those that were dropped end beside
		select {
		case <-t.Context().Done():
			t.Fatalf("made %d, ended %d", made.Load(), ended.Load())
		default:
		}
	}
}

// What a token may do in a day is counted, and survives a restart and removals.
func TestQuotas(t *testing.T) {
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/p.db")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	serve := func() *server {
		b, err := openBooks(t.Context(), store.SQL())
		if err != nil {
			t.Fatal(err)
		}
		cfg := &config.Config{}
		cfg.Serve.Tokens = map[string]config.Token{"anna": {PerDay: 2, Cost: 1.5}}
		return &server{app: &app{cfg: cfg}, store: store, books: b}
	}
	ctx := access.With(t.Context(), access.Caller{Token: "anna", Owner: "anna", Scopes: access.Scopes()})
	begin := func(ctx context.Context, id ponder.ThreadID) (ponder.Budget, error) {
		b := ponder.Budget{}
		return b, serve().counted(ctx, id, &b, func() error { return nil })
	}
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		b := ponder.Budget{}
		if err := serve().counted(ctx, id, &b, func() error { return nil }); err != nil || b.Money != 1_500_000 {
			t.Fatalf("%s: %v, %d", id, err, b.Money)
		}
	}
	s := serve()
	if err := s.books.remove(t.Context(), "thr_1", "anna", 1_000_000, time.Now()); err != nil {
		t.Fatal(err)
	}
	var refused *httpapi.Error
	if _, err := begin(ctx, "thr_3"); !errors.As(err, &refused) || refused.Status != 429 {
		t.Errorf("a third session: %v", err)
	}
	if err := s.counted(ctx, "thr_2", nil, func() error { return nil }); err != nil {
		t.Errorf("to go on: %v", err)
	}
	if err := s.books.remove(t.Context(), "thr_2", "anna", 1_000_000, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.counted(ctx, "thr_2", nil, func() error { return nil }); !errors.As(err, &refused) || refused.Status != 402 {
		t.Errorf("to go on when it has cost too much: %v", err)
	}
	if _, err := begin(t.Context(), "thr_4"); err != nil {
		t.Errorf("another token: %v", err)
	}
	if err := s.books.wish(t.Context(), "thr_4", func(w *wishing) { w.Model = "a/b" }); err != nil {
		t.Fatal(err)
	}
	if w, err := serve().books.wishes(t.Context(), "thr_4"); err != nil || w.Model != "a/b" {
		t.Errorf("%+v (%v)", w, err)
	}
}
