// Package sqldb is what parts of Ponder that keep tables of their own beside the
// log ask of a database: connections that read, the one that writes, and the
// dialect. Their statements are hand-written and run on SQLite and on Postgres.
//
// Each part has a name, a prefix for its tables, and scripts that make them; the
// table sqldb_part says which version of each is in a database.
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

// A DB is a database that parts share. It is safe for concurrent use.
type DB struct {
	// Read has connections that look things up while others write.
	Read *sql.DB

	// Write has the connection that writes, which the log uses too: whoever has a
	// transaction open there keeps all others waiting. Nil if the database can
	// only be read.
	Write *sql.DB

	// Committed, if set, is called after each transaction of Tx that was written, and makes
	// it durable.
	Committed func() error

	// Explain, if set, returns the errors of Tx by what they mean, such as a full disk.
	Explain func(error) error

	// Busy, if set, reports whether a transaction could not begin because another process
	// writes. Tx tries again then, until its context is done.
	Busy func(error) bool

	// Join, if set, does one statement with what else is written now; what is patient
	// waits some milliseconds for that.
	Join func(ctx context.Context, patient bool, query string, args ...any) error

	// Numbered says that parameters are $1, $2 and so on, as Postgres wants them.
	Numbered bool
}

// What a database answers when it does not do what it is asked.
var (
	ErrReadOnly = errors.New("database is read-only")
	ErrNewer    = errors.New("database was made by a newer version")
)

// Bind returns a statement, written with ? for each parameter, as the database
// wants it. A ? inside of quotes is left alone.
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

// Tx does something in one transaction that writes. If do returns an error,
// nothing of it is written. Keep it short: nothing else is written meanwhile.
func (db DB) Tx(ctx context.Context, do func(tx *sql.Tx) error) error {
	if db.Write == nil {
		return ErrReadOnly
	}
	return db.explained(db.tx(ctx, do))
}

// Pass does one statement without waiting for the disk: what it writes may be gone after a
// power failure, but then nothing is there that was written later. What is patient is
// written with what comes next, or after some milliseconds.
func (db DB) Pass(ctx context.Context, patient bool, query string, args ...any) error {
	if db.Write == nil {
		return ErrReadOnly
	}
	if db.Join != nil {
		return db.explained(db.Join(ctx, patient, db.Bind(query), args...))
	}
	return db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, db.Bind(query), args...)
		return err
	})
}

func (db DB) explained(err error) error {
	if err != nil && db.Explain != nil {
		return db.Explain(err)
	}
	return err
}

func (db DB) tx(ctx context.Context, do func(tx *sql.Tx) error) error {
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

// Migrate brings the tables of a part to the newest version, which the last of
// the scripts in a folder makes; they are done in the order of their names, each
// once, all in one transaction. A part of a newer version is ErrNewer. Where
// nothing can be written, tables of an older version are ErrReadOnly.
func (db DB) Migrate(ctx context.Context, part string, scripts fs.FS) error {
	names, err := fs.Glob(scripts, "*.sql") // sorted
	if err != nil {
		return err
	}
	version, err := db.version(ctx, part)
	switch {
	case err != nil:
		return fmt.Errorf("open tables of %s: %w", part, err)
	case version == len(names):
		return nil
	case version > len(names):
		return fmt.Errorf("open tables of %s: %w: they are of version %d, and this program knows %d", part, ErrNewer, version, len(names))
	}
	err = db.Tx(ctx, func(tx *sql.Tx) error { return db.migrate(ctx, tx, part, scripts, names) })
	if err != nil {
		return fmt.Errorf("make tables of %s: %w", part, err)
	}
	return nil
}

// version returns the version of the tables of a part; 0 if there are none.
func (db DB) version(ctx context.Context, part string) (version int, err error) {
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

func (db DB) migrate(ctx context.Context, tx *sql.Tx, part string, scripts fs.FS, names []string) error {
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
	for ; version < len(names); version++ { // another process may have been faster
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
