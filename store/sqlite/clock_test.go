package sqlite

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"ponder"
)

// TestClockSetBack sets the clock back by hours after a node died. Another node takes its thread.
// A node that lives keeps its threads, because its next heartbeat has the new time.
func TestClockSetBack(t *testing.T) {
	for name, back := range map[string]time.Duration{"hours": 5 * time.Hour, "a minute": time.Minute, "not": 0} {
		t.Run(name, func(t *testing.T) {
			s := openWith(t, "thr_1")
			for _, id := range []ponder.NodeID{"nod_1", "nod_2"} {
				if err := s.Join(t.Context(), ponder.Node{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Append(t.Context(), "thr_1", 0, ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "x"}}); err != nil {
				t.Fatal(err)
			}
			lease, err := s.Take(t.Context(), "thr_1", "nod_1")
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("sqlite", s.file) // so that the writer sees another process
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.ExecContext(t.Context(), `UPDATE ponder_node SET beat = beat + ?`, back.Microseconds()); err != nil {
				t.Fatal(err)
			}
			abandoned, err := s.Abandoned(t.Context())
			if got := slices.Contains(abandoned, "thr_1"); err != nil || got != (back > 0) {
				t.Errorf("abandoned %v, %v", got, err)
			}
			if _, err := s.Append(t.Context(), "thr_1", lease.Fence, ponder.Event{Run: "run_1", Body: ponder.Thought{}}); err != nil {
				t.Errorf("the holder cannot append: %v", err)
			}
			if err := s.Heartbeat(t.Context(), "nod_2", 0); err != nil {
				t.Errorf("heartbeat: %v", err)
			}
			_, err = s.Take(t.Context(), "thr_1", "nod_2")
			if back > 0 && err != nil || back == 0 && !errors.Is(err, ponder.ErrHeld) {
				t.Errorf("take: %v", err)
			}
		})
	}
}
