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
	"ponder/store/sqlite"
)

//go:embed schema/*.sql
var serveSchema embed.FS

// serverDB stores the preferences and the starting token of each thread. Package quota owns the
// cost columns of serve_thread. It is safe for concurrent use.
type serverDB struct {
	db         sqldb.DB
	statements sqldb.Statements
	version    atomic.Int64
}

// threadPrefs are the preferences of a thread set through the server.
type threadPrefs struct {
	Model   string `json:"model,omitempty"`
	NoWeb   bool   `json:"no_web,omitempty"`
	Persona string `json:"persona,omitempty"`
	System  string `json:"system,omitempty"` // the client's system prompt
	Keep    bool   `json:"keep,omitempty"`   // an exchange does not expire

	Zone     string `json:"zone,omitempty"` // of the user, as the newest client said
	Language string `json:"language,omitempty"`
}

func openServerDB(ctx context.Context, db sqldb.DB) (*serverDB, error) {
	scripts, err := fs.Sub(serveSchema, "schema")
	if err != nil {
		return nil, err
	}
	return &serverDB{db: db}, db.Migrate(ctx, "serve", scripts)
}

type threadRecord struct {
	threadPrefs
	token   string
	version int64
}

func (b *serverDB) readThread(ctx context.Context, id ponder.ThreadID) (e threadRecord, err error) {
	var js string
	e.version = b.version.Load()
	err = b.statements.First(ctx, b.db.Read, []any{&e.token, &js}, b.db.Bind(`SELECT token, wishes FROM serve_thread WHERE thread = ?`), string(id))
	if errors.Is(err, sql.ErrNoRows) {
		return e, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(js), &e.threadPrefs)
	}
	if err != nil {
		return e, fmt.Errorf("read the preferences of %s: %w", id, err)
	}
	return e, nil
}

func (b *serverDB) readPrefs(ctx context.Context, id ponder.ThreadID) (threadPrefs, error) {
	e, err := b.readThread(ctx, id)
	return e.threadPrefs, err
}

// ChangePrefs changes the preferences of a thread. It ignores removed threads.
func (b *serverDB) ChangePrefs(ctx context.Context, id ponder.ThreadID, change func(*threadPrefs)) error {
	w, err := b.readPrefs(ctx, id)
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
	defer b.version.Add(1)
	return b.db.Exec(ctx, `INSERT INTO serve_thread (thread, token, wishes, since) SELECT ?, '', ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = ? AND t.removed = 1)
			ON CONFLICT (thread) DO UPDATE SET wishes = excluded.wishes`, string(id), string(js), time.Now().Unix(), string(id))
}

func (b *serverDB) starterToken(ctx context.Context, id ponder.ThreadID) (string, error) {
	e, err := b.readThread(ctx, id)
	return e.token, err
}

// Remove deletes the record of a thread. Its cost stays charged to the token's day.
func (b *serverDB) Remove(ctx context.Context, id ponder.ThreadID) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE thread = ?`), string(id)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_thread WHERE thread = ?`), string(id))
		return err
	})
}

// requestDays is the number of days that idempotency keys stay.
const requestDays = 7

// aQuarter is the resolution of usage without threads.
const aQuarter = 15 * time.Minute

func (b *serverDB) addUsage(ctx context.Context, owner string, r ponder.UsageRow, now time.Time) error {
	err := b.db.Exec(ctx, `INSERT INTO serve_used (owner, quarter, model, calls, failed, input, micro_usd, unpriced)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, quarter, model) DO UPDATE SET
			calls = serve_used.calls + excluded.calls, failed = serve_used.failed + excluded.failed, input = serve_used.input + excluded.input,
			micro_usd = serve_used.micro_usd + excluded.micro_usd, unpriced = serve_used.unpriced + excluded.unpriced`,
		owner, now.Unix()/int64(aQuarter.Seconds()), r.Key, r.Calls, r.Failed, r.Usage.Total(), int64(r.Money), r.Unknown)
	if err != nil {
		return fmt.Errorf("record the usage of %s: %w", r.Key, err)
	}
	return nil
}

// listUsage returns an owner's usage without threads, in quarters of an hour. Its role is embed.
func (b *serverDB) listUsage(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) (list []ponder.UsageRow, err error) {
	quarter := int64(0)
	if !since.IsZero() {
		quarter = since.Unix() / int64(aQuarter.Seconds())
	}
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT quarter, model, calls, failed, input, micro_usd, unpriced FROM serve_used
		WHERE owner = ? AND quarter >= ? ORDER BY quarter`), owner, quarter)
	if err != nil {
		return nil, fmt.Errorf("read the usage of %s: %w", owner, err)
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
		return r, false, fmt.Errorf("record a request: %w", err)
	}
	return r, known, nil
}

func (b *serverDB) Answer(ctx context.Context, id, answer string) error {
	return b.execRequest(ctx, `UPDATE serve_once SET answer = ? WHERE id = ?`, answer, id)
}

func (b *serverDB) Leave(ctx context.Context, id string) error {
	return b.execRequest(ctx, `DELETE FROM serve_once WHERE id = ? AND answer = ''`, id)
}

func (b *serverDB) cleanUpRequests(ctx context.Context, now time.Time) error {
	return b.execRequest(ctx, `DELETE FROM serve_once WHERE since < ?`, now.AddDate(0, 0, -requestDays).Unix())
}

func (b *serverDB) execRequest(ctx context.Context, query string, args ...any) error {
	err := b.db.Exec(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("record a request: %w", err)
	}
	return nil
}

func (b *serverDB) Put(ctx context.Context, kind, owner, id string, record []byte) error {
	return b.db.Exec(ctx, `INSERT INTO serve_record (kind, owner, id, record) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, owner, id) DO UPDATE SET record = excluded.record`, kind, owner, id, string(record))
}

func (b *serverDB) Drop(ctx context.Context, kind, owner, id string) error {
	return b.db.Exec(ctx, `DELETE FROM serve_record WHERE kind = ? AND owner = ? AND id = ?`, kind, owner, id)
}

// forEachRecord calls do for the records of a kind, of all owners, and joins the errors.
func forEachRecord(ctx context.Context, store *sqlite.Store, kind string, do func(*serverDB, Record) error) error {
	db, err := openServerDB(ctx, store.SQL())
	if err != nil {
		return err
	}
	list, err := db.Records(ctx, kind, "")
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range list {
		errs = append(errs, do(db, r))
	}
	return errors.Join(errs...)
}

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
