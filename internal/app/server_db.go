package app

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var serveSchema embed.FS

// Books are what the server keeps of threads beside their logs: with which model they
// are to go on, and which token has started them. The columns of serve_thread for what a
// thread may cost belong to package quota. They are safe for concurrent use.
type serverDB struct {
	db    sqldb.DB
	known sqldb.Statements // what is asked of db.Read again and again
	turn  atomic.Int64     // counts the changes of entries in this process
}

// A wishing is what a thread was asked for through the server.
type threadPrefs struct {
	Model   string `json:"model,omitempty"`
	NoWeb   bool   `json:"no_web,omitempty"`
	Persona string `json:"persona,omitempty"`
	System  string `json:"system,omitempty"` // what the program that a user speaks through says of how to answer
	Keep    bool   `json:"keep,omitempty"`   // an exchange is not removed once it is old
}

// openBooks returns the books in a database.
func openBooks(ctx context.Context, db sqldb.DB) (*serverDB, error) {
	scripts, err := fs.Sub(serveSchema, "schema")
	if err != nil {
		return nil, err
	}
	return &serverDB{db: db}, db.Migrate(ctx, "serve", scripts)
}

// An entry is what the books have of a thread.
type entry struct {
	threadPrefs
	token string // that has begun it, or ""
	turn  int64  // of the books, before it was read
}

// entry returns what there is of a thread, nothing if nothing is there.
func (b *serverDB) entry(ctx context.Context, id ponder.ThreadID) (e entry, err error) {
	var js string
	e.turn = b.turn.Load()
	err = b.known.First(ctx, b.db.Read, []any{&e.token, &js}, b.db.Bind(`SELECT token, wishes FROM serve_thread WHERE thread = ?`), string(id))
	if errors.Is(err, sql.ErrNoRows) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(js), &e.threadPrefs)
	}
	if err != nil {
		return e, fmt.Errorf("read what %s is asked for: %w", id, err)
	}
	return e, nil
}

// wishes returns what a thread was asked for.
func (b *serverDB) wishes(ctx context.Context, id ponder.ThreadID) (threadPrefs, error) {
	e, err := b.entry(ctx, id)
	return e.threadPrefs, err
}

// wish changes what a thread is asked for. One that has been removed is asked for nothing.
func (b *serverDB) Wish(ctx context.Context, id ponder.ThreadID, change func(*threadPrefs)) error {
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
	defer b.turn.Add(1)
	return b.db.Exec(ctx, `INSERT INTO serve_thread (thread, token, wishes, since) SELECT ?, '', ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = ? AND t.removed = 1)
			ON CONFLICT (thread) DO UPDATE SET wishes = excluded.wishes`, string(id), string(js), time.Now().Unix(), string(id))
}

// token returns the token that has begun a thread, or "".
func (b *serverDB) token(ctx context.Context, id ponder.ThreadID) (string, error) {
	e, err := b.entry(ctx, id)
	return e.token, err
}

// Remove forgets a thread. What it has cost stays in the day of its token.
func (b *serverDB) Remove(ctx context.Context, id ponder.ThreadID) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE thread = ?`), string(id)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_thread WHERE thread = ?`), string(id))
		return err
	})
}

// oncesKept is how many days requests are kept.
const oncesKept = 7

// aQuarter is how exactly is kept when something was used beside threads.
const aQuarter = 15 * time.Minute

// use counts what was used of a model, the key of the row, beside threads.
func (b *serverDB) use(ctx context.Context, owner string, r ponder.UsageRow, now time.Time) error {
	err := b.db.Exec(ctx, `INSERT INTO serve_used (owner, quarter, model, calls, failed, input, micro_usd, unpriced)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, quarter, model) DO UPDATE SET
			calls = serve_used.calls + excluded.calls, failed = serve_used.failed + excluded.failed, input = serve_used.input + excluded.input,
			micro_usd = serve_used.micro_usd + excluded.micro_usd, unpriced = serve_used.unpriced + excluded.unpriced`,
		owner, now.Unix()/int64(aQuarter.Seconds()), r.Key, r.Calls, r.Failed, r.Usage.Total(), int64(r.Money), r.Unknown)
	if err != nil {
		return fmt.Errorf("note what %s used: %w", r.Key, err)
	}
	return nil
}

// used returns what an owner used beside threads since a time, cut to quarters of an hour.
// It is of the role embed, and of no thread, run or mode.
func (b *serverDB) used(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) (list []ponder.UsageRow, err error) {
	quarter := int64(0)
	if !since.IsZero() {
		quarter = since.Unix() / int64(aQuarter.Seconds())
	}
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT quarter, model, calls, failed, input, micro_usd, unpriced FROM serve_used
		WHERE owner = ? AND quarter >= ? ORDER BY quarter`), owner, quarter)
	if err != nil {
		return nil, fmt.Errorf("read what %s used: %w", owner, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r ponder.UsageRow
		var model string
		if err := rows.Scan(&quarter, &model, &r.Calls, &r.Failed, &r.Usage.Input, &r.Money, &r.Unknown); err != nil {
			return nil, err
		}
		switch by {
		case ponder.ByRole:
			r.Key = string(ponder.Embed)
		case ponder.ByModel:
			r.Key = model
		case ponder.ByDay:
			r.Key = time.Unix(quarter*int64(aQuarter.Seconds()), 0).Local().Format(time.DateOnly)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// Enter implements [Requests].
func (b *serverDB) Enter(ctx context.Context, id, words string) (r SentRequest, known bool, err error) {
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

// Answer implements [Requests].
func (b *serverDB) Answer(ctx context.Context, id, answer string) error {
	return b.once(ctx, `UPDATE serve_once SET answer = ? WHERE id = ?`, answer, id)
}

// Leave implements [Requests].
func (b *serverDB) Leave(ctx context.Context, id string) error {
	return b.once(ctx, `DELETE FROM serve_once WHERE id = ? AND answer = ''`, id)
}

// tidyOnces forgets requests that are old.
func (b *serverDB) tidyOnces(ctx context.Context, now time.Time) error {
	return b.once(ctx, `DELETE FROM serve_once WHERE since < ?`, now.AddDate(0, 0, -oncesKept).Unix())
}

// once changes what is kept of requests.
func (b *serverDB) once(ctx context.Context, query string, args ...any) error {
	err := b.db.Exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("note a request: %w", err)
	}
	return nil
}

// Put implements [responses.Book].
func (b *serverDB) Put(ctx context.Context, kind, owner, id string, record []byte) error {
	return b.db.Exec(ctx, `INSERT INTO serve_record (kind, owner, id, record) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, owner, id) DO UPDATE SET record = excluded.record`, kind, owner, id, string(record))
}

// Drop implements [responses.Book].
func (b *serverDB) Drop(ctx context.Context, kind, owner, id string) error {
	return b.db.Exec(ctx, `DELETE FROM serve_record WHERE kind = ? AND owner = ? AND id = ?`, kind, owner, id)
}

// Records implements [responses.Book].
func (b *serverDB) Records(ctx context.Context, kind, owner string) (list []Record, err error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT owner, id, record FROM serve_record
		WHERE kind = ? AND (owner = ? OR '' = ?) ORDER BY id, owner`), kind, owner, owner)
	if err != nil {
		return nil, fmt.Errorf("read records of %s: %w", kind, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Record
		var js string
		if err := rows.Scan(&r.Owner, &r.ID, &js); err != nil {
			return nil, fmt.Errorf("read records of %s: %w", kind, err)
		}
		r.JSON = []byte(js)
		list = append(list, r)
	}
	return list, rows.Err()
}
