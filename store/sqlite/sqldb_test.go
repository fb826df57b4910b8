package sqlite_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"ponder"
)

// Parts that keep tables of their own are told what their errors mean, too.
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
	if err := db.Tx(t.Context(), func(*sql.Tx) error { return other }); err != other { //nolint:errorlint // it is left alone
		t.Errorf("an error of others: %v", err)
	}
}
