package quota

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/store/sqldb"
)

type Refusal struct {
	Starts  bool // too many starts; else too much cost
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refusef(format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...)}
}

// StartTime limits the time between a reservation and its work. Older reservations of idle
// threads are free, since their processes died.
const StartTime = 2 * time.Minute

// A Limit is the daily limit of a token. Zero is no limit.
type Limit struct {
	Starts int
	Cost   ponder.Money
}

type Row struct {
	Ceiling ponder.Money // in total
	Cost    ponder.Money
	Known   bool // the ceiling is set
	Active  bool // working, or about to
}

func (r Row) Reserved() ponder.Money { return max(0, r.Ceiling-r.Cost) }

// A Request reserves for a thread from the quota of a token.
type Request struct {
	Token   string
	Limit   Limit
	Thread  ponder.ThreadID
	Starts  int
	Pending bool // reserve until the caller starts the thread and calls Started

	// Amount returns the amount to reserve, given the thread's row and the rest of the token's
	// day without it. It is only called under a cost limit.
	Amount func(row Row, left ponder.Money) (ponder.Money, error)
}

// Quotas enforces daily limits of tokens. It is safe for concurrent use by many processes: a
// reservation is one transaction and reads no log.
type Quotas struct {
	db sqldb.DB

	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func New(db sqldb.DB) *Quotas { return &Quotas{db: db, locks: make(map[string]*sync.Mutex)} }

// Lock serialises the starts of a token in this process.
func (q *Quotas) Lock(token string) (unlock func()) {
	q.mu.Lock()
	one := q.locks[token]
	if one == nil {
		one = new(sync.Mutex)
		q.locks[token] = one
	}
	q.mu.Unlock()
	one.Lock()
	return one.Unlock
}

// Reserve returns the reserved amount. The first token that reserves owns the thread. The error
// is a [Refusal], or from Amount or the database.
func (q *Quotas) Reserve(ctx context.Context, r Request) (amount ponder.Money, err error) {
	err = q.db.Tx(ctx, func(tx *sql.Tx) error {
		t, now := transaction{ctx, q.db, tx}, time.Now()
		spent, err := t.startOn(r, now)
		if err != nil {
			return err
		}
		if err := t.findAtRest(r.Token, now); err != nil {
			return err
		}
		row, err := t.readRow(r.Thread)
		if err != nil {
			return err
		}
		ceiling := sql.NullInt64{}
		if r.Limit.Cost > 0 {
			left, err := t.quotaLeft(r, spent, now)
			if err == nil {
				amount, err = r.Amount(row, left)
			}
			if err != nil {
				return err
			}
			ceiling = sql.NullInt64{Int64: int64(row.Cost + amount), Valid: true}
		}
		return t.exec(`INSERT INTO serve_thread (thread, token, wishes, held, since, ceiling) VALUES (?, ?, '{}', ?, ?, ?)
			ON CONFLICT (thread) DO UPDATE SET held = excluded.held, since = excluded.since, ceiling = excluded.ceiling,
			token = CASE serve_thread.token WHEN '' THEN excluded.token ELSE serve_thread.token END`,
			string(r.Thread), r.Token, heldOf(r.Pending), now.Unix(), ceiling)
	})
	return amount, err
}

// Values of the column held; zero is an idle thread.
const (
	stateWorking = 1
	statePending = 2 // or more, in rows of older versions
)

func heldOf(isPending bool) int {
	if isPending {
		return statePending
	}
	return stateWorking
}

type transaction struct {
	ctx context.Context //nolint:containedctx // ends with the transaction
	db  sqldb.DB
	*sql.Tx
}

func (t transaction) exec(query string, args ...any) error {
	_, err := t.ExecContext(t.ctx, t.db.Bind(query), args...)
	return err
}

func (t transaction) queryFirst(query string, args []any, into ...any) error {
	return t.QueryRowContext(t.ctx, t.db.Bind(query), args...).Scan(into...)
}

// startOn counts the starts of r and returns the token's cost of the day. Its first statement
// excludes other reservations of the token.
func (t transaction) startOn(r Request, now time.Time) (spent ponder.Money, err error) {
	starts := 0
	err = t.queryFirst(`INSERT INTO serve_day (token, day, begun, micro_usd) VALUES (?, ?, ?, 0)
		ON CONFLICT (token, day) DO UPDATE SET begun = serve_day.begun + excluded.begun RETURNING begun, micro_usd`,
		[]any{r.Token, now.Format(time.DateOnly), r.Starts}, &starts, &spent)
	if err != nil {
		return 0, err
	}
	if r.Limit.Starts > 0 && starts > r.Limit.Starts {
		return 0, &Refusal{true, fmt.Sprintf("daily limit of this token reached: %s started; retry tomorrow", textkit.Count(r.Limit.Starts, "session", "sessions"))}
	}
	var today ponder.Money
	err = t.queryFirst(`SELECT coalesce(sum(micro_usd), 0) FROM serve_cost WHERE token = ? AND quarter >= ?`, []any{r.Token, quarterHour(midnight(now))}, &today)
	return spent + today, err
}

// findAtRest marks the idle rows of a token.
func (t transaction) findAtRest(token string, now time.Time) error {
	err := t.exec(`UPDATE serve_thread SET held = 0 WHERE token = ? AND held > 0 AND NOT (held >= ? AND since > ?)
		AND NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = serve_thread.thread AND t.removed = 0 AND (t.status = 'thinking'
			OR EXISTS (SELECT 1 FROM ponder_node n WHERE n.id = t.node AND n.buried = 0 AND n.beat > ?)))`,
		token, statePending, now.Add(-StartTime).Unix(), now.Add(-ponder.DeadAfter).UnixMicro())
	if err != nil {
		return err
	}
	return t.exec(`UPDATE serve_thread SET held = ? WHERE token = ? AND held = 0 AND ceiling > cost
		AND thread IN (SELECT id FROM ponder_thread WHERE status = 'thinking' AND removed = 0)`, stateWorking, token)
}

func (t transaction) readRow(id ponder.ThreadID) (r Row, err error) {
	held, ceiling := int64(0), sql.NullInt64{}
	err = t.queryFirst(`SELECT held, ceiling, cost FROM serve_thread WHERE thread = ?`, []any{string(id)}, &held, &ceiling, &r.Cost)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, nil
	}
	r.Ceiling, r.Known, r.Active = ponder.Money(ceiling.Int64), ceiling.Valid, held > 0
	return r, err
}

func (t transaction) quotaLeft(r Request, spent ponder.Money, now time.Time) (ponder.Money, error) {
	var reserved ponder.Money
	err := t.queryFirst(`SELECT coalesce(sum(CASE WHEN ceiling - cost > ? THEN ? ELSE ceiling - cost END), 0)
		FROM serve_thread WHERE token = ? AND held > 0 AND ceiling > cost AND thread <> ?`,
		[]any{int64(r.Limit.Cost), int64(r.Limit.Cost), r.Token, string(r.Thread)}, &reserved)
	switch {
	case err != nil:
		return 0, err
	case spent >= r.Limit.Cost:
		return 0, refusef("daily cost limit of this token reached: %v; retry tomorrow", r.Limit.Cost)
	case spent+reserved >= r.Limit.Cost:
		return 0, refusef("the rest of the daily cost limit of this token (%v) is reserved for running work: wait until it ends, or pause or cancel it", r.Limit.Cost)
	}
	return r.Limit.Cost - spent - reserved, nil
}

func (q *Quotas) execTx(ctx context.Context, query string, args ...any) error {
	return q.db.Tx(ctx, func(tx *sql.Tx) error { return transaction{ctx, q.db, tx}.exec(query, args...) })
}

// Started marks the thread of a pending reservation as working.
func (q *Quotas) Started(ctx context.Context, id ponder.ThreadID) error {
	return q.execTx(ctx, `UPDATE serve_thread SET held = ? WHERE thread = ? AND held >= ?`, stateWorking, string(id), statePending)
}

// Cancel undoes the reservation r and its starts, after its work failed to start.
func (q *Quotas) Cancel(ctx context.Context, r Request, at time.Time) error {
	return q.db.Tx(ctx, func(tx *sql.Tx) error {
		t := transaction{ctx, q.db, tx}
		return errors.Join(
			t.exec(`UPDATE serve_day SET begun = begun - ? WHERE token = ? AND day = ?`, r.Starts, r.Token, at.Format(time.DateOnly)),
			t.exec(`UPDATE serve_thread SET held = 0 WHERE thread = ?`, string(r.Thread)),
			t.exec(`DELETE FROM serve_thread WHERE thread = ? AND NOT EXISTS (SELECT 1 FROM ponder_thread t WHERE t.id = serve_thread.thread AND t.removed = 0)`, string(r.Thread)))
	})
}

// Free drops the reservations of a killed process's calls on a thread.
func (q *Quotas) Free(ctx context.Context, id ponder.ThreadID) error {
	return q.execTx(ctx, `UPDATE serve_thread SET ceiling = cost WHERE thread = ? AND ceiling > cost`, string(id))
}

// Charge adds the cost of work without a log to a token's day, and deletes its reservation.
func (q *Quotas) Charge(ctx context.Context, token string, id ponder.ThreadID, cost ponder.Money) error {
	return q.db.Tx(ctx, func(tx *sql.Tx) error {
		t := transaction{ctx, q.db, tx}
		return errors.Join(
			t.exec(`INSERT INTO serve_cost (token, quarter, micro_usd) VALUES (?, ?, ?)
				ON CONFLICT (token, quarter) DO UPDATE SET micro_usd = serve_cost.micro_usd + excluded.micro_usd`, token, quarterHour(time.Now()), int64(cost)),
			t.exec(`DELETE FROM serve_thread WHERE thread = ?`, string(id)))
	})
}

// Unread returns working threads whose ceiling is only in their log, with the older version's
// reservation.
func (q *Quotas) Unread(ctx context.Context) (map[ponder.ThreadID]ponder.Money, error) {
	rows, err := q.db.Read.QueryContext(ctx, `SELECT thread, held FROM serve_thread WHERE ceiling IS NULL AND token <> ''
		AND (held > 0 OR thread IN (SELECT id FROM ponder_thread WHERE status = 'thinking' AND removed = 0))`)
	if err != nil {
		return nil, fmt.Errorf("find threads without a cost limit: %w", err)
	}
	defer rows.Close()
	all := make(map[ponder.ThreadID]ponder.Money)
	for rows.Next() {
		var id ponder.ThreadID
		var held ponder.Money
		if err := rows.Scan(&id, &held); err != nil {
			return nil, err
		}
		all[id] = held
	}
	return all, rows.Err()
}

func (q *Quotas) Adopt(ctx context.Context, id ponder.ThreadID, amount ponder.Money) error {
	return q.execTx(ctx, `UPDATE serve_thread SET held = ?, ceiling = cost + ? WHERE thread = ? AND ceiling IS NULL`, stateWorking, int64(amount), string(id))
}

const daysKept = 7

func (q *Quotas) Cleanup(ctx context.Context, now time.Time) error {
	before := now.AddDate(0, 0, -daysKept)
	return errors.Join(
		q.execTx(ctx, `DELETE FROM serve_day WHERE day < ?`, before.Format(time.DateOnly)),
		q.execTx(ctx, `DELETE FROM serve_cost WHERE quarter < ?`, quarterHour(before)))
}

func quarterHour(t time.Time) int64 { return t.Unix() / int64((15 * time.Minute).Seconds()) }

func midnight(now time.Time) time.Time {
	return time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
}

const settleTime = 2 * time.Second

// An Account pays for calls of a thread without a budget from the day of a token.
type Account struct {
	Quotas *Quotas
	Token  string
	Limit  Limit
	Thread ponder.ThreadID
	Life   context.Context //nolint:containedctx // calls are settled after their own context
}

// Reserve implements [Payer]. It turns hedging off if the rest does not pay for two requests.
func (a Account) Reserve(ctx context.Context, m ponder.Model, req *llm.Request) (*llm.Request, ponder.Money, Settle, error) {
	if !m.Price.Known() {
		return nil, 0, nil, errors.New("the token of the conversation has a cost limit, but the price of " + m.Name() + " is unknown: add it to models.price")
	}
	most := maxCost(m.Price, req)
	if req.Hedge {
		if a.reserveAmount(ctx, 2*most) == nil {
			return req, 2 * most, a.newSettle(2 * most), nil
		}
		once := *req
		once.Hedge = false
		req = &once
	}
	return req, most, a.newSettle(most), a.reserveAmount(ctx, most)
}

func (a Account) reserveAmount(ctx context.Context, most ponder.Money) error {
	if most <= 0 {
		return nil
	}
	_, err := a.Quotas.Reserve(ctx, Request{Token: a.Token, Limit: a.Limit, Thread: a.Thread, Amount: func(row Row, left ponder.Money) (ponder.Money, error) {
		amount := most
		if row.Active {
			amount += row.Reserved()
		}
		if amount > left {
			return 0, refusef("the rest of the daily cost limit of this token is too small for an answer: retry tomorrow, or after its running work has ended")
		}
		return amount, nil
	}})
	return err
}

// newSettle returns the [Settle] of a call that reserved most.
func (a Account) newSettle(most ponder.Money) Settle {
	return func(cost ponder.Money) {
		rest := most - min(cost, most)
		if rest <= 0 {
			return
		}
		ctx, cancel := context.WithTimeout(a.Life, settleTime)
		defer cancel()
		if err := a.Quotas.execTx(ctx, `UPDATE serve_thread SET ceiling = ceiling - ? WHERE thread = ?`, int64(rest), string(a.Thread)); err != nil {
			slog.Warn("cannot release the unused reservation of a conversation", "thread", a.Thread, "error", err)
		}
	}
}
