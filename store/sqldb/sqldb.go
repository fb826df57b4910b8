// Package sqldb gives packages of Ponder their own tables in the database of the log:
// reading connections, the writing connection, and the dialect. Their statements are
// hand-written and run on SQLite and on Postgres.
//
// Each such part has a name, a prefix for its tables, and migration scripts. The table
// sqldb_part stores the version of each.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// A DB is a database that several parts share. It is safe for concurrent use.
type DB struct {
	// Read reads concurrently with writes.
	Read *sql.DB

	// Write is the writing connection, which the log uses too. An open transaction on it
	// blocks all other writers. It is nil if the database is read-only.
	Write *sql.DB

	// Committed, if set, is called after each committed transaction of Tx, and makes it
	// durable.
	Committed func() error

	// Explain, if set, translates the errors of Tx, for example to a full disk.
	Explain func(error) error

	// Busy, if set, reports whether a transaction could not begin because another process
	// writes. Tx then tries again until its context ends.
	Busy func(error) bool

	// Join, if set, executes one statement in the next transaction of the log. A patient
	// statement waits some milliseconds for others.
	Join func(ctx context.Context, patient bool, query string, args ...any) error

	// Numbered says that parameters are $1, $2 and so on, as in Postgres.
	Numbered bool
}

var (
	ErrReadOnly = errors.New("database is read-only")
	ErrNewer    = errors.New("database was created by a newer version")
)

// Bind returns a statement, written with ? for each parameter, in the dialect of the
// database. It does not change a ? inside quotes.
func (db DB) Bind(query string) string {
	if !db.Numbered || !strings.Contains(query, "?") {
		return query
	}
	var b strings.Builder
	n, quoted := 0, false
	for i := range len(query) {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c == '?' && !quoted:
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Tx calls do in a writing transaction. If do returns an error, Tx rolls back. Other
// writers wait, so do must be short.
func (db DB) Tx(ctx context.Context, do func(tx *sql.Tx) error) error {
	if db.Write == nil {
		return ErrReadOnly
	}
	return db.explainError(db.runTx(ctx, do))
}

// Exec runs one statement, with its placeholders bound, in a transaction.
func (db DB) Exec(ctx context.Context, query string, args ...any) error {
	return db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, db.Bind(query), args...)
		return err
	})
}

// ExecUnsynced executes one statement without waiting for the disk. A power failure may undo it,
// with all later writes. A patient statement waits some milliseconds for other writes.
func (db DB) ExecUnsynced(ctx context.Context, patient bool, query string, args ...any) error {
	if db.Write == nil {
		return ErrReadOnly
	}
	if db.Join != nil {
		return db.explainError(db.Join(ctx, patient, db.Bind(query), args...))
	}
	return db.Exec(ctx, query, args...)
}

func (db DB) explainError(err error) error {
	if err != nil && db.Explain != nil {
		return db.Explain(err)
	}
	return err
}

func (db DB) runTx(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := db.Write.BeginTx(ctx, nil)
	for err != nil && db.Busy != nil && db.Busy(err) && ctx.Err() == nil {
		tx, err = db.Write.BeginTx(ctx, nil)
	}
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if db.Committed != nil {
		return db.Committed()
	}
	return nil
}

// Migrate migrates the tables of a part to the newest version: the number of scripts. The
// scripts run in the order of their names, each once, in one transaction. Migrate returns
// ErrNewer for tables of a newer version, and ErrReadOnly if it cannot migrate tables of an
// older one.
func (db DB) Migrate(ctx context.Context, part string, scripts fs.FS) error {
	names, err := fs.Glob(scripts, "*.sql") // sorted
	if err != nil {
		return err
	}
	version, err := db.partVersion(ctx, part)
	switch {
	case err != nil:
		return fmt.Errorf("open tables of %s: %w", part, err)
	case version == len(names):
		return nil
	case version > len(names):
		return fmt.Errorf("open tables of %s: %w: they have version %d, but this program supports up to %d", part, ErrNewer, version, len(names))
	}
	err = db.Tx(ctx, func(tx *sql.Tx) error { return db.migratePart(ctx, tx, part, scripts, names) })
	if err != nil {
		return fmt.Errorf("create tables of %s: %w", part, err)
	}
	return nil
}

// partVersion returns the version of the tables of a part, or 0.
func (db DB) partVersion(ctx context.Context, part string) (version int, err error) {
	has := `SELECT count(*) FROM sqlite_schema WHERE name = 'sqldb_part'`
	if db.Numbered {
		has = `SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = 'sqldb_part'`
	}
	tables := 0
	if err := db.Read.QueryRowContext(ctx, has).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = db.Read.QueryRowContext(ctx, db.Bind(`SELECT version FROM sqldb_part WHERE name = ?`), part).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return version, err
}

func (db DB) migratePart(ctx context.Context, tx *sql.Tx, part string, scripts fs.FS, names []string) error {
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS sqldb_part (name TEXT PRIMARY KEY, version INTEGER NOT NULL)`); err != nil {
		return err
	}
	insert := `INSERT INTO sqldb_part (name, version) VALUES (?, 0) ON CONFLICT (name) DO NOTHING`
	if _, err := tx.ExecContext(ctx, db.Bind(insert), part); err != nil {
		return err
	}
	version := 0
	if err := tx.QueryRowContext(ctx, db.Bind(`SELECT version FROM sqldb_part WHERE name = ?`), part).Scan(&version); err != nil {
		return err
	}
	for ; version < len(names); version++ { // another process may have migrated them
		script, err := fs.ReadFile(scripts, names[version])
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", names[version], err)
		}
	}
	_, err := tx.ExecContext(ctx, db.Bind(`UPDATE sqldb_part SET version = ? WHERE name = ?`), version, part)
	return err
}
