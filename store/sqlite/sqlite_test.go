package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"ponder"
	"ponder/store/sqlite"
	"ponder/store/storetest"
)

// A store is a Store with the interfaces of storetest.
type store struct {
	*sqlite.Store
	file string
}

func openStore(t testing.TB, file string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Age implements [storetest.HeartbeatShifter].
func (s *store) Age(t *testing.T, d time.Duration) {
	t.Helper()
	execSQL(t, s.file, `UPDATE ponder_node SET beat = beat - ?`, d.Microseconds())
}

// Twin implements [storetest.SharedStore].
func (s *store) Twin(t *testing.T) ponder.Store { return openStore(t, s.file) }

// execSQL executes a statement as another process.
func execSQL(t testing.TB, file, query string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", file+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) ponder.Store {
		file := filepath.Join(t.TempDir(), "ponder.db")
		return &store{openStore(t, file), file}
	})
}
