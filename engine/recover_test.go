package engine_test

import (
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/llm"
	"ponder/store/memory"
)

// TestCancelledWhilePausedIsRecovered ends a process after a paused run was cancelled, and
// before the run ended.
func TestCancelledWhilePausedIsRecovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newConfig(&fake{takes: func(*llm.Request) time.Duration { return time.Hour }})
		cfg.Store, cfg.Logger = memory.New(), slog.New(slog.DiscardHandler)
		begin := ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "steps", Input: "?"}}
		if err := cfg.Store.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession}, begin); err != nil {
			t.Fatal(err)
		}
		for _, cmd := range []ponder.Body{ponder.RunPaused{}, ponder.Steer{Do: ponder.Cancel}} {
			if _, err := ponder.SendCommands(t.Context(), cfg.Store, "thr_1", ponder.Event{Run: "run_1", Body: cmd}); err != nil {
				t.Fatal(err)
			}
		}
		left, err := cfg.Store.Abandoned(t.Context())
		if err != nil || !slices.Equal(left, []ponder.ThreadID{"thr_1"}) {
			t.Fatalf("left to do: %q (%v)", left, err)
		}
		eng, err := engine.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := eng.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := eng.Work(t.Context(), "thr_1"); err != nil {
			t.Error(err)
		}
		if info, err := cfg.Store.Thread(t.Context(), "thr_1"); info.Status != ponder.Cancelled {
			t.Errorf("it is %s (%v)", info.Status, err)
		}
		if err := eng.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
