package sqldb_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"ponder/store/sqldb"
	"ponder/store/sqlite"
)

func TestBind(t *testing.T) {
	const query = `SELECT '?' || x FROM t WHERE a = ? AND b IN (?, ?)`
	if got := (sqldb.DB{}).Bind(query); got != query {
		t.Error(got)
	}
	want := `SELECT '?' || x FROM t WHERE a = $1 AND b IN ($2, $3)`
	if got := (sqldb.DB{Numbered: true}).Bind(query); got != want {
		t.Error(got)
	}
}

func TestMigrate(t *testing.T) {
	ctx, file := t.Context(), filepath.Join(t.TempDir(), "a.db")
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := store.SQL()
	first := fstest.MapFS{"001.sql": {Data: []byte(`CREATE TABLE part_a (x INTEGER); INSERT INTO part_a VALUES (1)`)}}
	second := fstest.MapFS{"001.sql": first["001.sql"], "002.sql": {Data: []byte(`UPDATE part_a SET x = x + 10`)}}
	broken := fstest.MapFS{"001.sql": first["001.sql"], "002.sql": second["002.sql"], "003.sql": {Data: []byte(`UPDATE part_a SET x = 99; nonsense`)}}
	value := func() (x int) {
		t.Helper()
		if err := db.Read.QueryRowContext(ctx, `SELECT x FROM part_a`).Scan(&x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	steps := []struct {
		name    string
		scripts fstest.MapFS
		is      error
		says    string
		want    int
	}{
		{"made", first, nil, "", 1},
		{"made already", first, nil, "", 1},
		{"newer", second, nil, "", 11},
		{"by an older program", first, sqldb.ErrNewer, "they have version 2, but this program supports up to 1", 11},
		{"a script that fails", broken, nil, "003.sql", 11},
		{"after that", second, nil, "", 11},
	}
	for _, s := range steps {
		err := db.Migrate(ctx, "part", s.scripts)
		if s.is != nil && !errors.Is(err, s.is) || (err == nil) != (s.says == "") || err != nil && !strings.Contains(err.Error(), s.says) {
			t.Errorf("%s: %v", s.name, err)
		}
		if got := value(); got != s.want {
			t.Errorf("%s: %d, want %d", s.name, got, s.want)
		}
	}
	if err := (sqldb.DB{Read: db.Read}).Migrate(ctx, "other", first); !errors.Is(err, sqldb.ErrReadOnly) {
		t.Errorf("tables of a database that is only read: %v", err)
	}
}

func TestTx(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db, refused := store.SQL(), errors.New("refused")
	err = db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE part_b (x INTEGER)`)
		return errors.Join(err, refused)
	})
	if !errors.Is(err, refused) {
		t.Errorf("Tx: %v", err)
	}
	n := 0
	if err := db.Read.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'part_b'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d tables after a transaction that was refused, %v", n, err)
	}
}
