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
// are to go on, and what tokens have begun. They keep the tables serve_thread and
// serve_day. They are safe for concurrent use.
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
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_thread (thread, token, wishes, since) SELECT ?, '', ?, ?
			WHERE NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = ? AND t.removed = 1)
			ON CONFLICT (thread) DO UPDATE SET wishes = excluded.wishes`), string(id), string(js), time.Now().Unix(), string(id))
		return err
	})
}

// A day is what a token has done on a day.
type day struct {
	token string
	date  string       // 2006-01-02
	begun int          // threads
	gone  ponder.Money // what threads had cost that were removed
	turn  int          // how much was granted
}

// today returns the day of a token.
func (b *serverDB) today(ctx context.Context, token string, now time.Time) (d day, err error) {
	d = day{token: token, date: now.Format(time.DateOnly)}
	err = b.db.Read.QueryRowContext(ctx, b.db.Bind(`SELECT begun, micro_usd, turn FROM serve_day WHERE token = ? AND day = ?`),
		token, d.date).Scan(&d.begun, &d.gone, &d.turn)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return d, err
}

// A grant is what a thread may cost, in the sense of the column held, and how many threads
// are begun with it.
type grant struct {
	thread ponder.ThreadID
	held   ponder.Money
	begun  int
	waits  bool // the thread thinks only once it is told to go on
}

// grant notes what a token was granted, and reports whether nothing else was granted
// since the day was read, by whichever process. A thread belongs to the token that was
// granted something for it first.
func (b *serverDB) grant(ctx context.Context, d day, g grant, now time.Time) (ok bool, err error) {
	defer b.turn.Add(1)
	err = b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_day (token, day, begun, micro_usd) VALUES (?, ?, 0, 0)
			ON CONFLICT (token, day) DO NOTHING`), d.token, d.date)
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_day SET turn = turn + 1, begun = begun + ? WHERE token = ? AND day = ? AND turn = ?`),
			g.begun, d.token, d.date, d.turn)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if ok = n == 1; err != nil || !ok {
			return err
		}
		if g.waits {
			now = now.Add(time.Second) // after all that was done with it before: since has whole seconds
		}
		_, err = tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_thread (thread, token, wishes, held, since) VALUES (?, ?, '{}', ?, ?)
			ON CONFLICT (thread) DO UPDATE SET held = excluded.held, since = excluded.since,
			token = CASE serve_thread.token WHEN '' THEN excluded.token ELSE serve_thread.token END`),
			string(g.thread), d.token, int64(g.held), now.Unix())
		return err
	})
	return ok && err == nil, err
}

// ungrant takes back what a thread was granted that was not begun.
func (b *serverDB) ungrant(ctx context.Context, d day, g grant) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_day SET begun = begun - ? WHERE token = ? AND day = ?`), g.begun, d.token, d.date)
		if err != nil {
			return err
		}
		return b.rest(ctx, tx, g.thread)
	})
}

// atRest holds nothing any more for a thread, and forgets one that is not there.
func (b *serverDB) atRest(ctx context.Context, id ponder.ThreadID) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error { return b.rest(ctx, tx, id) })
}

func (b *serverDB) rest(ctx context.Context, tx *sql.Tx, id ponder.ThreadID) error {
	if _, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_thread SET held = 0 WHERE thread = ? AND held <> 0`), string(id)); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_thread WHERE thread = ? AND `+noThread), string(id))
	return err
}

// hold changes what a thread may cost from an amount to another, unless it is not that
// any more.
func (b *serverDB) hold(ctx context.Context, id ponder.ThreadID, from, to ponder.Money) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`UPDATE serve_thread SET held = ? WHERE thread = ? AND held = ?`), int64(to), string(id), int64(from))
		return err
	})
}

// A holding is what a thread may cost, by the books.
type holding struct {
	held  ponder.Money
	since time.Time
}

// holdings returns the threads of a token that may cost something.
func (b *serverDB) holdings(ctx context.Context, token string) (map[ponder.ThreadID]holding, error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT thread, held, since FROM serve_thread WHERE token = ? AND held > 0`), token)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make(map[ponder.ThreadID]holding)
	for rows.Next() {
		var id ponder.ThreadID
		var h holding
		var since int64
		if err := rows.Scan(&id, &h.held, &since); err != nil {
			return nil, err
		}
		h.since = time.Unix(since, 0)
		all[id] = h
	}
	return all, rows.Err()
}

// token returns the token that has begun a thread, or "".
func (b *serverDB) token(ctx context.Context, id ponder.ThreadID) (string, error) {
	e, err := b.entry(ctx, id)
	return e.token, err
}

// remove forgets a thread, which has cost so much today.
func (b *serverDB) Remove(ctx context.Context, id ponder.ThreadID, token string, cost ponder.Money, now time.Time) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		if token != "" && cost > 0 {
			if err := b.spend(ctx, tx, token, cost, now); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_chat WHERE thread = ?`), string(id)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_thread WHERE thread = ?`), string(id))
		return err
	})
}

// noThread is the condition that there is no thread of a row of serve_thread.
const noThread = `NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = serve_thread.thread AND NOT t.removed)`

// spent returns what the threads of a token that are there have cost since a time.
func (b *serverDB) spent(ctx context.Context, token string, since time.Time) (map[ponder.ThreadID]ponder.Money, error) {
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT t.id, sum(u.money) FROM ponder_usage u JOIN ponder_thread t USING (num)
		JOIN serve_thread s ON s.thread = t.id WHERE u.tool = '' AND u.time >= ? AND s.token = ? GROUP BY t.id`), since.UnixMicro(), token)
	if err != nil {
		return nil, fmt.Errorf("read what %s has cost: %w", token, err)
	}
	defer rows.Close()
	sums := make(map[ponder.ThreadID]ponder.Money)
	for rows.Next() {
		var id ponder.ThreadID
		var sum ponder.Money
		if err := rows.Scan(&id, &sum); err != nil {
			return nil, err
		}
		sums[id] = sum
	}
	return sums, rows.Err()
}

// spentBy returns what a thread has cost since a time.
func (b *serverDB) spentBy(ctx context.Context, id ponder.ThreadID, since time.Time) (sum ponder.Money, err error) {
	err = b.known.First(ctx, b.db.Read, []any{&sum}, b.db.Bind(`SELECT coalesce(sum(u.money), 0) FROM ponder_usage u JOIN ponder_thread t USING (num)
		WHERE u.tool = '' AND u.time >= ? AND t.id = ?`), since.UnixMicro(), string(id))
	if err != nil {
		return 0, fmt.Errorf("read what %s has cost: %w", id, err)
	}
	return sum, nil
}

// keptDays is how long days are kept.
const keptDays = 7

// tidy forgets days that are long over.
func (b *serverDB) tidy(ctx context.Context, now time.Time) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_day WHERE day < ?`), now.AddDate(0, 0, -keptDays).Format(time.DateOnly))
		return err
	})
}

// aQuarter is how exactly is kept when something was used beside threads.
const aQuarter = 15 * time.Minute

// use counts what was used of a model, the key of the row, beside threads.
func (b *serverDB) use(ctx context.Context, owner string, r ponder.UsageRow, now time.Time) error {
	err := b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_used (owner, quarter, model, calls, failed, input, micro_usd, unpriced)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, quarter, model) DO UPDATE SET
			calls = serve_used.calls + excluded.calls, failed = serve_used.failed + excluded.failed, input = serve_used.input + excluded.input,
			micro_usd = serve_used.micro_usd + excluded.micro_usd, unpriced = serve_used.unpriced + excluded.unpriced`),
			owner, now.Unix()/int64(aQuarter.Seconds()), r.Key, r.Calls, r.Failed, r.Usage.Total(), int64(r.Money), r.Unknown)
		return err
	})
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

// tidyOnces forgets requests that nobody makes again any more.
func (b *serverDB) tidyOnces(ctx context.Context, now time.Time) error {
	return b.once(ctx, `DELETE FROM serve_once WHERE since < ?`, now.AddDate(0, 0, -keptDays).Unix())
}

// once changes what is kept of requests.
func (b *serverDB) once(ctx context.Context, query string, args ...any) error {
	err := b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(query), args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("note a request: %w", err)
	}
	return nil
}

// Put implements [responses.Book].
func (b *serverDB) Put(ctx context.Context, kind, owner, id string, record []byte) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_record (kind, owner, id, record) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, owner, id) DO UPDATE SET record = excluded.record`), kind, owner, id, string(record))
		return err
	})
}

// Drop implements [responses.Book].
func (b *serverDB) Drop(ctx context.Context, kind, owner, id string) error {
	return b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`DELETE FROM serve_record WHERE kind = ? AND owner = ? AND id = ?`), kind, owner, id)
		return err
	})
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
