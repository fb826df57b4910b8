package sqldb_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"ponder/store/sqlite"
)

// What passes is there at once, and the next who writes waits for the disk again.
func TestPass(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := store.SQL()
	const normal, full = 1, 2
	level := func(q interface {
		QueryRow(query string, args ...any) *sql.Row
	}) (n int) {
		t.Helper()
		if err := q.QueryRow(`PRAGMA synchronous`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		fails error
		rows  int
	}{{nil, 1}, {broken, 1}, {nil, 2}} {
		err := db.Pass(ctx, func(tx *sql.Tx) error {
			if got := level(tx); got != normal {
				t.Errorf("while it passes: %d", got)
			}
			_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS part_a (x INTEGER)`)
			if err == nil {
				_, err = tx.ExecContext(ctx, `INSERT INTO part_a VALUES (1)`)
			}
			return errors.Join(err, c.fails)
		})
		if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
			t.Errorf("%v, not %v", err, c.fails)
		}
		if got := level(db.Write); got != full {
			t.Errorf("after it: %d", got)
		}
		var rows int
		if err := db.Read.QueryRowContext(ctx, `SELECT count(*) FROM part_a`).Scan(&rows); err != nil || rows != c.rows {
			t.Errorf("%d rows, %v", rows, err)
		}
	}
}
