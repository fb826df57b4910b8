package sqldb_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// A write of Pass is visible when Pass returns, whether or not other writes follow. Pass
// returns only the errors of the statement.
func TestPass(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := store.SQL()
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE part_a (x INTEGER NOT NULL)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := func() (n int) {
		t.Helper()
		if err := db.Read.QueryRowContext(ctx, `SELECT count(*) FROM part_a`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, patient := range []bool{false, true} {
		if err := db.ExecUnsynced(ctx, patient, `INSERT INTO part_a VALUES (?)`, 1); err != nil || rows() != i+1 {
			t.Errorf("alone, patient %t: %d rows, %v", patient, rows(), err)
		}
	}
	if err := store.Create(ctx, ponder.Thread{ID: "thr_1"}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := db.ExecUnsynced(ctx, i%2 == 0, `INSERT INTO part_a VALUES (?)`, 2); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := db.ExecUnsynced(ctx, i%3 == 0, `INSERT INTO part_a VALUES (?)`, nil); err == nil || !strings.Contains(err.Error(), "NOT NULL") {
				t.Errorf("got error %v for an invalid statement, want NOT NULL", err)
			}
		})
		wg.Go(func() {
			if _, err := store.Append(ctx, "thr_1", 0, ponder.Event{Body: ponder.UserMessage{Content: "hello"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	info, err := store.Thread(ctx, "thr_1")
	if err != nil || info.Head != 20 || rows() != 22 {
		t.Errorf("%d events, %d rows, %v", info.Head, rows(), err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.ExecUnsynced(ctx, true, `INSERT INTO part_a VALUES (3)`); err == nil {
		t.Error("a store that is closed writes")
	}
}
