package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"ponder"
)

//go:embed migrations/*.sql
var migrations embed.FS

// scripts are the migrations: the first makes version 1 of nothing.
var scripts = [...]string{
	"migrations/001_first.sql",
}

// newest is the version of the tables that this package reads and writes.
const newest = len(scripts)

// migrate brings a database to the newest version. Processes that do so at the
// same time wait for each other.
func migrate(ctx context.Context, db *sql.DB) error {
	version, err := schemaVersion(ctx, db)
	for isBusy(err) && ctx.Err() == nil {
		version, err = schemaVersion(ctx, db) // another process turns it to WAL
	}
	if err != nil {
		return err
	}
	for version < newest {
		version, err = migrateAll(ctx, db)
		if err != nil && !isBusy(err) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return checkVersion(version)
}

// schemaVersion returns the version of a database; 0 if it has no tables of ours.
func schemaVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	var tables int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema WHERE name = 'ponder_meta'`).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	return version, db.QueryRowContext(ctx, `SELECT version FROM ponder_meta`).Scan(&version)
}

func checkVersion(version int) error {
	if version > newest {
		return fmt.Errorf("%w: its tables are of version %d, and this program knows %d: use the newer ponder",
			ponder.ErrNewer, version, newest)
	}
	return nil
}

// migrateAll does in one transaction what is left to do.
func migrateAll(ctx context.Context, db *sql.DB) (version int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS ponder_meta (version INTEGER NOT NULL) STRICT`); err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM ponder_meta`).Scan(&version)
	if err != nil || version >= newest {
		return version, err
	}
	for i, name := range scripts[version:] {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return 0, err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return 0, fmt.Errorf("migrate to version %d: %w", version+i+1, err)
		}
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM ponder_meta; INSERT INTO ponder_meta VALUES (?)`, newest)
	if err != nil {
		return 0, err
	}
	return newest, tx.Commit()
}

// micros returns a time as it is stored.
func micros(t time.Time) int64 { return t.UnixMicro() }

// fromMicros undoes micros.
func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
