package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// one asks for one number.
func (s *Statements) one(ctx context.Context, db *sql.DB, query string, arg int) (n int, err error) {
	rows, err := s.Query(ctx, db, query, arg)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	rows.Next()
	if err := rows.Scan(&n); err != nil {
		return 0, err
	}
	return n, rows.Err()
}

// TestStatements asks many queries, more than are kept, from many goroutines.
func TestStatements(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s Statements
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2 * maxStatements {
				if got, err := s.one(t.Context(), db, fmt.Sprintf(`SELECT %d + ?`, i), g); err != nil || got != i+g {
					t.Errorf("%d, %v, want %d", got, err, i+g)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(s.all) > maxStatements {
		t.Errorf("%d statements are kept", len(s.all))
	}
	if _, err := s.one(t.Context(), db, `no SQL`, 0); err == nil {
		t.Error("it takes what is no query")
	}
}
