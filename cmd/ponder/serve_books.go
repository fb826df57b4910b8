package main

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ponder"
	"ponder/store/sqldb"
)

//go:embed serve_schema/*.sql
var serveSchema embed.FS

// Books are what the server keeps of threads beside their logs: with which model they
// are to go on, and what tokens have begun. They keep the tables serve_thread and
// serve_day. They are safe for concurrent use.
type books struct{ db sqldb.DB }

// A wishing is what a thread was asked for through the server.
type wishing struct {
	Model   string `json:"model,omitempty"`
	NoWeb   bool   `json:"no_web,omitempty"`
	Persona string `json:"persona,omitempty"`
}

// openBooks returns the books in a database.
func openBooks(ctx context.Context, db sqldb.DB) (*books, error) {
	scripts, err := fs.Sub(serveSchema, "serve_schema")
	if err != nil {
		return nil, err
	}
	return &books{db}, db.Migrate(ctx, "serve", scripts)
}

// wishes returns what a thread was asked for.
func (b *books) wishes(ctx context.Context, id ponder.ThreadID) (w wishing, err error) {
	var js string
	err = b.db.Read.QueryRowContext(ctx, b.db.Bind(`SELECT wishes FROM serve_thread WHERE thread = ?`), string(id)).Scan(&js)
	if errors.Is(err, sql.ErrNoRows) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(js), &w)
	}
	if err != nil {
		return w, fmt.Errorf("read what %s is asked for: %w", id, err)
	}
	return w, nil
}

// wish changes what a thread is asked for.
func (b *books) wish(ctx context.Context, id ponder.ThreadID, change func(*wishing)) error {
	w, err := b.wishes(ctx, id)
	if err != nil {
		return err
	}
	before := w
	if change(&w); w == before {
		return nil
	}
	js, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_thread (thread, token, wishes) VALUES (?, '', ?)
			ON CONFLICT (thread) DO UPDATE SET wishes = excluded.wishes`), string(id), string(js))
		return err
	})
}

// begun notes that a token has begun a thread.
func (b *books) begun(ctx context.Context, token string, id ponder.ThreadID, now time.Time) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_thread (thread, token, wishes) VALUES (?, ?, '{}')
			ON CONFLICT (thread) DO UPDATE SET token = excluded.token`), string(id), token)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_day (token, day, begun, micro_usd) VALUES (?, ?, 1, 0)
			ON CONFLICT (token, day) DO UPDATE SET begun = serve_day.begun + 1`), token, now.Format(time.DateOnly))
		return err
	})
}

// today returns how many threads a token has begun today, and what those of its threads
// had cost today that are removed.
func (b *books) today(ctx context.Context, token string, now time.Time) (begun int, cost ponder.Money, err error) {
	err = b.db.Read.QueryRowContext(ctx, b.db.Bind(`SELECT begun, micro_usd FROM serve_day WHERE token = ? AND day = ?`),
		token, now.Format(time.DateOnly)).Scan(&begun, &cost)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return begun, cost, err
}

// threads returns the threads that a token has begun.
func (b *books) threads(ctx context.Context, token string) (map[string]bool, error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT thread FROM serve_thread WHERE token = ?`), token)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[string]bool)
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all[id] = true
	}
	return all, rows.Err()
}

// token returns the token that has begun a thread, or "".
func (b *books) token(ctx context.Context, id ponder.ThreadID) (token string, err error) {
	err = b.db.Read.QueryRowContext(ctx, b.db.Bind(`SELECT token FROM serve_thread WHERE thread = ?`), string(id)).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return token, err
}

// remove forgets a thread, which has cost so much today.
func (b *books) remove(ctx context.Context, id ponder.ThreadID, token string, cost ponder.Money, now time.Time) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		if token != "" && cost > 0 {
			_, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_day SET micro_usd = micro_usd + ? WHERE token = ? AND day = ?`),
				int64(cost), token, now.Format(time.DateOnly))
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_thread WHERE thread = ?`), string(id))
		return err
	})
}

// keptDays is how long days are kept.
const keptDays = 7

// tidy forgets days that are long over.
func (b *books) tidy(ctx context.Context, now time.Time) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_day WHERE day < ?`), now.AddDate(0, 0, -keptDays).Format(time.DateOnly))
		return err
	})
}
