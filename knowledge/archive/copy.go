package archive

import (
	"context"
	"database/sql"
	"time"
)

// A Copy is that a source had an original at a time.
type Copy struct {
	Hash    string
	Type    string // media type
	Title   string
	Source  string // a path or a URL
	Fetched time.Time
}

// Copies returns what a source had, the newest first.
func (a *Archive) Copies(ctx context.Context, source string) ([]Copy, error) {
	rows, err := a.db.Read.QueryContext(ctx, a.db.Bind(`SELECT hash, type, title, fetched FROM archive_copy
		WHERE source = ? ORDER BY fetched DESC, hash`), source)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Copy
	for rows.Next() {
		c, fetched := Copy{Source: source}, int64(0)
		if err := rows.Scan(&c.Hash, &c.Type, &c.Title, &fetched); err != nil {
			return nil, err
		}
		c.Fetched = time.UnixMicro(fetched).UTC()
		list = append(list, c)
	}
	return list, rows.Err()
}

// Remove removes a copy in a transaction of the caller's, and its original if no
// other source has it. To remove what is not there does nothing.
func (a *Archive) Remove(ctx context.Context, tx *sql.Tx, source, hash string) error {
	_, err := tx.ExecContext(ctx, a.db.Bind(`DELETE FROM archive_copy WHERE source = ? AND hash = ?`), source, hash)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, a.db.Bind(`DELETE FROM archive_blob WHERE hash = ?
		AND NOT EXISTS (SELECT 1 FROM archive_copy c WHERE c.hash = archive_blob.hash)`), hash)
	return err
}
