package app

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"ponder/engine"
)

// Threads with equal specs share an engine, which closes after its last use.
func TestEnginePoolReuse(t *testing.T) {
	var made, ended atomic.Int64
	w := &enginePool{list: make(map[string]*pooledEngine), make: func(o engineSpec) (*engine.Engine, func(), error) {
		if o.Model == "none" {
			return nil, nil, errors.New("no such model")
		}
		made.Add(1)
		return &engine.Engine{}, func() { ended.Add(1) }, nil
	}}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			_, leave, err := w.acquire(t.Context(), engineSpec{Model: "a"})
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
	if _, _, err := w.acquire(t.Context(), engineSpec{Model: "none"}); err == nil || len(w.list) != 1 {
		t.Errorf("%v, and %d are kept", err, len(w.list))
	}
	_, leave, err := w.acquire(t.Context(), engineSpec{Model: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range w.list {
		one.made = one.made.Add(-2 * engineLife)
	}
	_, other, err := w.acquire(t.Context(), engineSpec{Model: "a"})
	if err != nil || made.Load() != 2 || ended.Load() != 0 {
		t.Fatalf("%v: made %d, ended %d", err, made.Load(), ended.Load())
	}
	leave()
	other()
	for i := range 3 * maxIdleEngines {
		if _, leave, err = w.acquire(t.Context(), engineSpec{Model: "m", Persona: string(rune('a' + i))}); err != nil {
			t.Fatal(err)
		}
		leave()
	}
	if len(w.list) > maxIdleEngines {
		t.Errorf("%d are kept", len(w.list))
	}
	w.close()
	for ended.Load() < made.Load() {
		select {
		case <-t.Context().Done():
			t.Fatalf("made %d, ended %d", made.Load(), ended.Load())
		default:
		}
	}
}
