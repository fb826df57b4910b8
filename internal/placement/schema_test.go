package placement

import (
	"database/sql"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files")

// TestSchema checks that schema.sql creates the same tables as the migrations of DBOS.
func TestSchema(t *testing.T) {
	db := memoryDB(t)
	d, err := dbos.NewContext(t.Context(), dbos.Config{
		AppName: serveApp, ApplicationVersion: "v", ExecutorID: "nod_x", SQLiteSystemDB: db, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := dumpSchema(t, db)
	if err := dbos.Shutdown(d, shutdownTime); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.sql", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, schema); diff != "" && !*update {
		t.Errorf("schema.sql is not what dbos makes; go test -run %s -update writes it:\n%s", t.Name(), diff)
	}
	if end := fmt.Sprintf("VALUES (%d);\n", schemaVersion); !strings.HasSuffix(want, end) {
		t.Errorf("schemaVersion is %d, and the dump ends in %q", schemaVersion, want[len(want)-20:])
	}
}

func memoryDB(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

const schemaHead = `-- The tables of github.com/dbos-inc/dbos-transact-golang v1.4.0 (MIT licence), as
-- its migrations make them. TestSchema writes this file, and checks it.
`

// dumpSchema returns the schema and the single row of a database.
func dumpSchema(t *testing.T, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(schemaHead)
	var tables []string
	rows, err := db.QueryContext(t.Context(), `SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var kind, name, text string
		if err := rows.Scan(&kind, &name, &text); err != nil {
			t.Fatal(err)
		}
		if kind == "table" {
			tables = append(tables, name)
		}
		b.WriteString(text + ";\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		var n int
		if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if want := table == "dbos_migrations"; (n > 0) != want {
			t.Errorf("table %s has %d rows", table, n)
		}
	}
	var version int
	if err := db.QueryRowContext(t.Context(), `SELECT version FROM dbos_migrations`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "INSERT INTO dbos_migrations (version) VALUES (%d);\n", version)
	return b.String()
}
