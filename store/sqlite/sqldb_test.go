package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"ponder"
)

// Users of SQL get the same errors as users of the store.
func TestSQLExplains(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	db := s.SQL()
	write := func(query string) error {
		return db.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), query)
			return err
		})
	}
	if err := write(`CREATE TABLE part (b BLOB)`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB().ExecContext(t.Context(), "PRAGMA max_page_count = 200"); err != nil {
		t.Fatal(err)
	}
	if err := write(`INSERT INTO part VALUES (zeroblob(4000000))`); !errors.Is(err, ponder.ErrFull) {
		t.Errorf("a full disk: %v", err)
	}
	other := errors.New("another error")
	if err := db.Tx(t.Context(), func(*sql.Tx) error { return other }); err != other { //nolint:errorlint // unchanged
		t.Errorf("an error of others: %v", err)
	}
}

// Users of SQL wait for another writing process as long as the log does, also with a short
// busy_timeout.
func TestSQLWaits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	if _, err := s.DB().ExecContext(t.Context(), "PRAGMA busy_timeout = 1"); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	writes, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	db := s.SQL()
	busy := db.Busy
	refused := make(chan struct{}, 100)
	db.Busy = func(err error) bool {
		select {
		case refused <- struct{}{}:
		default:
		}
		return busy(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- db.Tx(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), `CREATE TABLE part (b BLOB)`)
			return err
		})
	}()
	for range 3 {
		select {
		case <-refused:
		case err := <-ended:
			t.Fatalf("it does not wait: %v", err)
		}
	}
	if err := writes.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	if writes, err = other.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	defer writes.Rollback()
	db.Busy = func(err error) bool { cancel(); return busy(err) }
	if err := db.Tx(ctx, func(*sql.Tx) error { return nil }); err == nil {
		t.Error("it was written though another process writes")
	}
}
