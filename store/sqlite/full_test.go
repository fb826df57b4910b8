package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// fillDisk appends until the disk is full, and returns the number of acknowledged appends.
func fillDisk(t *testing.T, s *sqlite.Store, line string) int {
	t.Helper()
	for n := range 100_000 {
		_, err := s.Append(t.Context(), "thr_1", 0, userMessage(line))
		if err == nil {
			continue
		}
		if !errors.Is(err, ponder.ErrFull) || strings.Contains(err.Error(), "\n") {
			t.Errorf("append %d: got error %v, want ErrFull", n+1, err)
		}
		return n
	}
	t.Fatal("the disk never got full")
	return 0
}

func TestFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1")
	limit := func(pages int) {
		t.Helper()
		if _, err := s.DB().ExecContext(t.Context(), fmt.Sprint("PRAGMA max_page_count = ", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	n := fillDisk(t, s, strings.Repeat("x", 5000))
	if got := len(threadTexts(t, s, "thr_1")); got != n {
		t.Errorf("%d events are there, and %d were acknowledged", got, n)
	}
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_2"}, userMessage(strings.Repeat("x", 100_000))); !errors.Is(err, ponder.ErrFull) {
		t.Errorf("create: got error %v, want ErrFull", err)
	}
	limit(1 << 30)
	appendMessages(t, s, "thr_1", "there is room again")
	if got := len(threadTexts(t, s, "thr_1")); got != n+1 {
		t.Errorf("%d events are there, want %d", got, n+1)
	}
}

// TestFullForOne has one request in a transaction that exceeds the space.
func TestFullForOne(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1")
	if _, err := s.DB().ExecContext(t.Context(), "PRAGMA max_page_count = 200"); err != nil {
		t.Fatal(err)
	}
	release := occupyConn(t, s.DB())
	results := make(chan error, 21)
	add := func(line string) {
		go func() {
			_, err := s.Append(t.Context(), "thr_1", 0, userMessage(line))
			results <- err
		}()
	}
	for range 20 {
		add("small")
	}
	add(strings.Repeat("x", 2_000_000))
	release()
	failed := 0
	for range cap(results) {
		if err := <-results; err != nil {
			failed++
			if !errors.Is(err, ponder.ErrFull) {
				t.Error(err)
			}
		}
	}
	if got := len(threadTexts(t, s, "thr_1")); failed != 1 || got != 20 {
		t.Errorf("%d appends failed, and %d events are there", failed, got)
	}
}
