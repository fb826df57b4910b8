package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"ponder"
)

// TestRootsOfErasedEvents has a store without cache read from the log which root runs are
// paused, although the content of the events is erased.
func TestRootsOfErasedEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	of := func(run ponder.RunID, body ponder.Body) ponder.Event { return ponder.Event{Run: run, Body: body} }
	s := openStore(t, file)
	err := s.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession},
		of("run_0", ponder.RunStarted{Mode: "m"}), of("run_0", ponder.RunFinished{Status: ponder.Completed, Answer: "a"}),
		of("run_1", ponder.RunStarted{Mode: "m", Input: "why?"}), of("run_2", ponder.RunStarted{Mode: "m"}), of("run_3", ponder.RunStarted{Mode: "m"}),
		of("run_1", ponder.RunPaused{Reason: "lunch"}), of("", ponder.UserMessage{Content: "x"}), of("run_3", ponder.RunPaused{}))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		ev   ponder.Event
		want ponder.Status
	}{
		{of("run_2", ponder.RunPaused{}), ponder.Paused},
		{of("run_3", ponder.Steer{Do: ponder.Cancel, Content: "enough"}), ponder.Thinking},
		{of("run_1", ponder.RunResumed{}), ponder.Thinking},
	} {
		if err := s.Erase(t.Context(), "thr_1", 3, 6, ponder.Seq(8+i)); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, file)
		if _, err := s.Append(t.Context(), "thr_1", 0, c.ev); err != nil {
			t.Fatal(err)
		}
		if info, err := s.Thread(t.Context(), "thr_1"); info.Status != c.want || info.Open != 3 {
			t.Errorf("after %s of %s: %s, %d open (%v)", c.ev.Body.Type(), c.ev.Run, info.Status, info.Open, err)
		}
	}
}

// TestRootsAfterOlderProgram appends after a program that does not know the column of
// root runs.
func TestRootsAfterOlderProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	of := func(run ponder.RunID, body ponder.Body) ponder.Event { return ponder.Event{Run: run, Body: body} }
	s := openStore(t, file)
	err := s.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession}, of("run_1", ponder.RunStarted{Mode: "m"}), of("run_2", ponder.RunStarted{Mode: "m"}))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `UPDATE ponder_batch SET roots = NULL`); err != nil {
		t.Fatal(err)
	}
	check := func(want ...ponder.Root) {
		t.Helper()
		info, err := s.Thread(t.Context(), "thr_1")
		if err != nil || info.Open != 2 || !slices.Equal(info.Roots, want) {
			t.Errorf("open: %d, %v, want %v (%v)", info.Open, info.Roots, want, err)
		}
	}
	check()
	if _, err := s.Append(t.Context(), "thr_1", 0, of("", ponder.UserMessage{Content: "x"})); err != nil {
		t.Fatal(err)
	}
	check()
	if _, err := ponder.SendCommands(t.Context(), s, "thr_1", of("run_2", ponder.Steer{Content: "go on"})); err != nil {
		t.Fatal(err)
	}
	check(ponder.Root{ID: "run_1"}, ponder.Root{ID: "run_2"})
}
