package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Note returns a value that was noted and when, or ErrNone.
func (a *Archive) Note(ctx context.Context, kind, name string) (value []byte, at time.Time, err error) {
	micros := int64(0)
	err = a.db.Read.QueryRowContext(ctx, a.db.Bind(`SELECT value, at FROM archive_note WHERE kind = ? AND name = ?`), kind, name).Scan(&value, &micros)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, time.Time{}, ErrNone
	case err != nil:
		return nil, time.Time{}, fmt.Errorf("look up %s: %w", kind, err)
	}
	return value, time.UnixMicro(micros).UTC(), nil
}

// SetNote notes a value, in the place of the one of the same kind and name.
func (a *Archive) SetNote(ctx context.Context, kind, name string, value []byte, at time.Time) error {
	err := a.exec(ctx, `INSERT INTO archive_note (kind, name, at, value) VALUES (?, ?, ?, ?)
		ON CONFLICT (kind, name) DO UPDATE SET at = excluded.at, value = excluded.value`, kind, name, at.UnixMicro(), value)
	if err != nil {
		return fmt.Errorf("note %s: %w", kind, err)
	}
	return nil
}

// Forget removes the notes of a kind that are older than a time.
func (a *Archive) Forget(ctx context.Context, kind string, before time.Time) error {
	if err := a.exec(ctx, `DELETE FROM archive_note WHERE kind = ? AND at < ?`, kind, before.UnixMicro()); err != nil {
		return fmt.Errorf("forget %s: %w", kind, err)
	}
	return nil
}

func (a *Archive) exec(ctx context.Context, query string, args ...any) error {
	return a.db.Exec(ctx, query, args...)
}
