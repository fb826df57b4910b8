package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// TestDamaged overwrites the pages of a database one by one. Each failing call returns
// ErrDamaged, and acknowledged events stay.
func TestDamaged(t *testing.T) {
	whole := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, whole)
	appendMessages(t, s, "thr_1", "one", "two")
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("a database that is whole: %v", err)
	}
	pages := rootPages(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	const size = 4096
	for table, page := range pages {
		t.Run(table, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ponder.db")
			damaged := bytes.Clone(data)
			copy(damaged[(page-1)*size:page*size], bytes.Repeat([]byte{0xa5}, size))
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), file)
			if errors.Is(err, ponder.ErrDamaged) {
				return
			}
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			defer s.Close()
			if err := s.Check(t.Context()); !errors.Is(err, ponder.ErrDamaged) {
				t.Errorf("check: got %v, want ErrDamaged", err)
			}
			_, err = s.Append(t.Context(), "thr_1", 0, userMessage("three"))
			if err != nil && !errors.Is(err, ponder.ErrDamaged) || (err != nil) != (s.Damaged() != nil) {
				t.Errorf("append: got %v, want ErrDamaged; and it is remembered: %v", err, s.Damaged())
			}
			for _, err := range s.Events(t.Context(), "thr_1", 0) {
				if err != nil && !errors.Is(err, ponder.ErrDamaged) {
					t.Errorf("read: got %v, want ErrDamaged", err)
				}
			}
		})
	}
}

// TestDamagedEvent overwrites a byte of an event, which SQLite does not detect.
func TestDamagedEvent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_0")
	appendMessages(t, s, "thr_1", "one", "two")
	appendMessages(t, s, "thr_2", "of a thread that is removed")
	if err := s.Remove(t.Context(), "thr_2"); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("before: %v", err)
	}
	execSQL(t, file, `UPDATE ponder_batch SET lines = CAST(replace(CAST(lines AS TEXT), '"two', '"' || char(12) || 'wo') AS BLOB)`)
	if err := s.Check(t.Context()); !errors.Is(err, ponder.ErrDamaged) || !strings.Contains(err.Error(), "thr_1") {
		t.Errorf("check: got %v, want ErrDamaged of thr_1", err)
	}
	var failed error
	for _, err := range s.Events(t.Context(), "thr_1", 0) {
		failed = err
	}
	if !errors.Is(failed, ponder.ErrDamaged) || !strings.Contains(failed.Error(), "event 2") {
		t.Errorf("read: got %v, want ErrDamaged of event 2", failed)
	}
}

// rootPages returns the root page of each table and index of Ponder.
func rootPages(t *testing.T, s *sqlite.Store) map[string]int {
	t.Helper()
	rows, err := s.DB().QueryContext(t.Context(), `SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0 AND tbl_name LIKE 'ponder%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	pages := make(map[string]int)
	for rows.Next() {
		var name string
		var page int
		if err := rows.Scan(&name, &page); err != nil {
			t.Fatal(err)
		}
		pages[name] = page
	}
	if err := rows.Err(); err != nil || len(pages) < 10 {
		t.Fatalf("%d tables and indexes, %v", len(pages), err)
	}
	return pages
}
