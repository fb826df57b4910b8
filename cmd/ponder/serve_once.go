package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ponder/internal/httpapi"
)

var _ httpapi.Requests = (*books)(nil)

// Enter implements [httpapi.Requests].
func (b *books) Enter(ctx context.Context, id, words string) (r httpapi.Request, known bool, err error) {
	err = b.db.Tx(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_once (id, words, answer, since) VALUES (?, ?, '', ?) ON CONFLICT (id) DO NOTHING`),
			id, words, time.Now().Unix())
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if known = n == 0; err != nil || !known {
			return err
		}
		return tx.QueryRowContext(ctx, b.db.Bind(`SELECT words, answer FROM serve_once WHERE id = ?`), id).Scan(&r.Words, &r.Answer)
	})
	if err != nil {
		return r, false, fmt.Errorf("note a request: %w", err)
	}
	return r, known, nil
}

// Answer implements [httpapi.Requests].
func (b *books) Answer(ctx context.Context, id, answer string) error {
	return b.once(ctx, `UPDATE serve_once SET answer = ? WHERE id = ?`, answer, id)
}

// Leave implements [httpapi.Requests].
func (b *books) Leave(ctx context.Context, id string) error {
	return b.once(ctx, `DELETE FROM serve_once WHERE id = ? AND answer = ''`, id)
}

// tidyOnces forgets requests that nobody makes again any more.
func (b *books) tidyOnces(ctx context.Context, now time.Time) error {
	return b.once(ctx, `DELETE FROM serve_once WHERE since < ?`, now.AddDate(0, 0, -keptDays).Unix())
}

// once changes what is kept of requests.
func (b *books) once(ctx context.Context, query string, args ...any) error {
	err := b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(query), args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("note a request: %w", err)
	}
	return nil
}
