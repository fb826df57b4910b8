package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"math"
	"time"

	"ponder"
)

//go:embed migrations/*.sql
var migrations embed.FS

// newest is the schema version of this package: the number of the last file in migrations.
// The first file creates version 1.
const newest = 6

// readMigrations returns the migrations, in order.
func readMigrations() ([]string, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return nil, err
	}
	var all []string
	for _, f := range files {
		script, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, string(script))
	}
	return all, nil
}

// migrate migrates a database to the version after the last of scripts. Concurrent
// processes wait for each other.
func migrate(ctx context.Context, db *sql.DB, scripts []string) error {
	version := 0
	err := retryBusy(ctx, func() (err error) {
		version, err = schemaVersion(ctx, db)
		return err
	})
	if err != nil {
		return err
	}
	if version < len(scripts) {
		return retryBusy(ctx, func() error { return migrateAll(ctx, db, scripts) })
	}
	return checkVersion(version, len(scripts))
}

// retryBusy repeats do while another process holds the lock.
func retryBusy(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !isBusy(err) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// schemaVersion returns the version of a database, 0 if it has no tables of Ponder, or
// errForeign if it belongs to another program.
func schemaVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	var meta, ours, foreign bool
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(name = 'ponder_meta'), 0), coalesce(max(name GLOB 'ponder_*'), 0),
		count(*) OR (SELECT application_id FROM pragma_application_id) FROM sqlite_schema`).Scan(&meta, &ours, &foreign)
	switch {
	case err != nil:
		return 0, err
	case foreign && !ours:
		return 0, errForeign
	case ours && !meta:
		return 0, errNoVersion
	case !meta:
		return 0, nil
	}
	return readVersion(db.QueryRowContext(ctx, queryVersion))
}

// queryVersion reads the stored version and the number of stored versions. A table that another program
// wrote may have a value of any type.
const queryVersion = `SELECT max(version), count(*) FROM ponder_meta`

// errNoVersion reports a version that no version of Ponder has stored.
var errNoVersion = fmt.Errorf("%w: its schema has an impossible version", ponder.ErrDamaged)

// readVersion returns a stored version, 0 if there is none, or errNoVersion.
func readVersion(row *sql.Row) (int, error) {
	var value any
	n := 0
	if err := row.Scan(&value, &n); err != nil {
		return 0, err
	}
	version, isNumber := value.(int64)
	switch {
	case n == 0:
		return 0, nil
	case !isNumber || version < 1 || n > 1:
		return 0, errNoVersion
	}
	return int(min(version, maxVersion)), nil
}

// maxVersion is the highest version that a message names. It fits into an int of each system.
const maxVersion = math.MaxInt32

func checkVersion(version, newest int) error {
	if version > newest {
		return fmt.Errorf("%w: its schema has version %d, but this program supports up to %d",
			ponder.ErrNewer, version, newest)
	}
	return nil
}

// migrateAll performs the missing migrations in one transaction.
func migrateAll(ctx context.Context, db *sql.DB, scripts []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	version := 0
	_, err = tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ponder_meta (version INTEGER NOT NULL) STRICT`)
	if err == nil {
		version, err = readVersion(tx.QueryRowContext(ctx, queryVersion))
	}
	if err != nil || version >= len(scripts) { // another process has migrated it
		return errors.Join(err, checkVersion(version, len(scripts)))
	}
	for ; version < len(scripts); version++ {
		if _, err := tx.ExecContext(ctx, scripts[version]); err != nil {
			return fmt.Errorf("migrate to version %d: %w", version+1, err)
		}
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM ponder_meta; INSERT INTO ponder_meta VALUES (?)`, version); err != nil {
		return err
	}
	return tx.Commit()
}

// checkWritable returns an error if the database is read-only.
func checkWritable(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if isBusy(err) {
		return nil // another process can write
	}
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, `UPDATE ponder_meta SET version = version WHERE false`)
	return err
}

// toMicros returns the stored form of a time.
func toMicros(t time.Time) int64 { return t.UnixMicro() }

// fromMicros is the inverse of micros.
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
