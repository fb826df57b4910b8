package app_test

import (
	"testing"

	"ponder"
	"ponder/internal/app"
	"ponder/store/memory"
)

func TestShortID(t *testing.T) {
	store := memory.New()
	for _, id := range []ponder.ThreadID{"thr_01KB0Z3M5XQ2AAAAAAAAAAAAAA", "thr_01KB0Z3M5XQ3AAAAAAAAAAAAAA", "thr_01KB0Z3M5XQ3AABBBBBBBBBBBB", "imported-one"} {
		if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[ponder.ThreadID]string{
		"thr_01KB0Z3M5XQ2AAAAAAAAAAAAAA": "thr_01KB0Z3M5XQ2",
		"thr_01KB0Z3M5XQ3AAAAAAAAAAAAAA": "thr_01KB0Z3M5XQ3AAA",
		"imported-one":                   "imported-one",
	} {
		got, err := app.ShortID(t.Context(), store, id)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", id, got, err, want)
			continue
		}
		var a app.App
		if info, err := a.FindThread(t.Context(), store, got, ""); err != nil || info.ID != id {
			t.Errorf("%s finds %s, %v", got, info.ID, err)
		}
	}
}
