package main

import (
	"context"
	"database/sql"
	"fmt"

	"ponder/internal/compat/responses"
)

// Put implements [responses.Book].
func (b *books) Put(ctx context.Context, kind, owner, id string, record []byte) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_record (kind, owner, id, record) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, owner, id) DO UPDATE SET record = excluded.record`), kind, owner, id, string(record))
		return err
	})
}

// Drop implements [responses.Book].
func (b *books) Drop(ctx context.Context, kind, owner, id string) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_record WHERE kind = ? AND owner = ? AND id = ?`), kind, owner, id)
		return err
	})
}

// Records implements [responses.Book].
func (b *books) Records(ctx context.Context, kind, owner string) (list []responses.Record, err error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT owner, id, record FROM serve_record
		WHERE kind = ? AND (owner = ? OR '' = ?) ORDER BY id, owner`), kind, owner, owner)
	if err != nil {
		return nil, fmt.Errorf("read records of %s: %w", kind, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r responses.Record
		var js string
		if err := rows.Scan(&r.Owner, &r.ID, &js); err != nil {
			return nil, fmt.Errorf("read records of %s: %w", kind, err)
		}
		r.JSON = []byte(js)
		list = append(list, r)
	}
	return list, rows.Err()
}
