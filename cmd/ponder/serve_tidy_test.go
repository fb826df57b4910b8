package main

import (
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
)

// What is kept of threads that are gone is forgotten, but not what they have cost, nor
// what is kept of threads that are about to begin.
func TestBooksForgetThreadsThatAreGone(t *testing.T) {
	l := newTill(t, config.Token{Cost: 1})
	s := l.serve()
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		if _, err := l.begin(s, id, 300_000); err != nil {
			t.Fatal(err)
		}
	}
	l.does("thr_1", append(costs(200_000), ponder.RunFinished{Status: ponder.Completed, Answer: "x"})...)
	if err := l.store.Remove(l.ctx, "thr_1"); err != nil { // as commands do
		t.Fatal(err)
	}
	if err := s.books.wish(l.ctx, "thr_3", func(w *wishing) { w.NoWeb = true }); err != nil { // after its deletion
		t.Fatal(err)
	}
	kept := func() (n int) {
		t.Helper()
		if err := s.books.db.Read.QueryRowContext(l.ctx, `SELECT count(*) FROM serve_thread`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, tidy := range []struct {
		before time.Time
		kept   int
	}{{time.Now().Add(-bookedTime), 3}, {time.Now().Add(time.Minute), 1}} {
		if err := s.tidyThreads(l.ctx, tidy.before); err != nil || kept() != tidy.kept {
			t.Errorf("%d are kept, want %d: %v", kept(), tidy.kept, err)
		}
	}
	if m, err := l.begin(s, "thr_4", 1_000_000); err != nil || m != 500_000 { // of 1 - 0.2 - 0.3
		t.Errorf("another is granted %d: %v", m, err)
	}
}
