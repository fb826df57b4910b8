package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
)

// A groupColumns is a grouping of usage: columns of ponder_usage and ponder_sum.
type groupColumns struct {
	key, thread string // columns of ponder_usage u and ponder_thread t; thread is empty if not needed
	summed      bool   // ponder_sum can answer it, with the column sum
	sum         string
}

var groups = map[ponder.GroupBy]groupColumns{
	ponder.ByThread: {key: "t.id", thread: "''"},
	ponder.ByRun:    {key: "u.run", thread: "t.id"},
	ponder.ByRole:   {key: "u.role", summed: true, sum: "u.role"},
	ponder.ByModel:  {key: "u.model", summed: true, sum: "u.model"},
	ponder.ByMode:   {key: "u.mode", summed: true, sum: "u.mode"},
	ponder.ByDay:    {key: "cast(u.time / 900000000 AS TEXT)", summed: true, sum: "cast(u.quarter AS TEXT)"},
}

// quarter is the period of stored sums. In all time zones, days start with a quarter of an
// hour.
const quarter = 15 * time.Minute

// Usage implements [ponder.Ledger].
func (s *Store) Usage(ctx context.Context, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	rows, err := s.queryUsage(ctx, by, nil, sinceMicros(since))
	if err != nil {
		return nil, fmt.Errorf("sum usage by %s: %w", by, explainError(err))
	}
	return rows, nil
}

// UsageOf is [Store.Usage] for the threads of an owner, including removed ones.
func (s *Store) UsageOf(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	rows, err := s.queryUsage(ctx, by, &owner, sinceMicros(since))
	if err != nil {
		return nil, fmt.Errorf("sum usage of %s by %s: %w", owner, by, explainError(err))
	}
	return rows, nil
}

// HasOthers reports whether an owner other than the given one has a thread.
func (s *Store) HasOthers(ctx context.Context, owner string) (there bool, err error) {
	err = s.statements.First(ctx, s.read, []any{&there}, `SELECT EXISTS (SELECT 1 FROM ponder_thread WHERE owner > ?)
		OR EXISTS (SELECT 1 FROM ponder_thread WHERE owner > '' AND owner < ?)
		OR EXISTS (SELECT 1 FROM ponder_thread WHERE owner = '' AND owner <> ? AND created > 0 AND NOT removed)`, owner, owner, owner)
	if err != nil {
		return false, fmt.Errorf("look for owners other than %s: %w", owner, explainError(err))
	}
	return there, nil
}

// queryUsage returns sums for an owner, or for all owners if owner is nil.
func (s *Store) queryUsage(ctx context.Context, by ponder.GroupBy, owner *string, since int64) ([]ponder.UsageRow, error) {
	query, args, err := usageQuery(by, owner, since)
	if err != nil {
		return nil, err
	}
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tally, added := make(storerules.Tally), int64(0)
	for rows.Next() {
		var r ponder.UsageRow
		var raw int64
		u := &r.Usage
		if err := rows.Scan(&raw, &r.Key, &r.Thread, &r.Calls, &r.Failed, &r.Money, &r.Unknown,
			&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning, &u.Cost, &u.Estimated); err != nil {
			return nil, err
		}
		if by == ponder.ByDay {
			if r.Key, err = dayOf(r.Key); err != nil {
				return nil, err
			}
		}
		tally.Add(r)
		added += raw
	}
	if added > sumEvery {
		s.sumUp()
	}
	return tally.Rows(), rows.Err()
}

// usageQuery returns the query of sums and its arguments. Its first column counts the rows
// that are not summed yet.
func usageQuery(by ponder.GroupBy, owner *string, since int64) (query string, args []any, err error) {
	g, ok := groups[by]
	if !ok {
		return "", nil, errors.New("unknown group")
	}
	join, whose, summedOf := "", "", ""
	if g.thread != "" || owner != nil {
		join = " JOIN ponder_thread t USING (num)"
	}
	if owner != nil {
		whose, summedOf = " AND "+ownerOf+" = ?", " AND u.owner = ?"
	}
	rows := func(raw, from, condition string, arguments ...any) string {
		args = append(args, arguments...)
		if owner != nil {
			args = append(args, *owner)
		}
		return `SELECT ` + raw + ` AS raw, ` + g.key + ` AS key, ` + cmp.Or(g.thread, "''") + ` AS thread, 1 AS calls, u.failed, u.money, u.price = 'unknown' AS unknown,
			u.input, u.cache_read, u.cache_write, u.output, u.reasoning, u.cost, u.estimated FROM ` + from + join + ` WHERE u.tool = '' AND ` + condition + whose
	}
	var from string
	if !g.summed {
		from = rows("0", "ponder_usage u", "u.time >= ?", since)
	} else {
		whole := (since + quarter.Microseconds() - 1) / quarter.Microseconds()
		from = rows("1", "ponder_usage u NOT INDEXED", "u.rowid > (SELECT upto FROM ponder_summed) AND u.time >= ?", since) +
			" UNION ALL " + rows("0", "ponder_usage u", "u.rowid <= (SELECT upto FROM ponder_summed) AND u.time >= ? AND u.time < ?", since, whole*quarter.Microseconds())
		args = append(args, whole)
		if owner != nil {
			args = append(args, *owner)
		}
		from += ` UNION ALL SELECT 0, ` + g.sum + `, '', u.calls, u.failed, u.money, u.unknown,
			u.input, u.cache_read, u.cache_write, u.output, u.reasoning, u.cost, u.estimated FROM ponder_sum u WHERE u.quarter >= ?` + summedOf
	}
	return `SELECT sum(raw), key, thread, sum(calls), sum(failed), sum(money), sum(unknown),
		sum(input), sum(cache_read), sum(cache_write), sum(output), sum(reasoning), sum(cost), max(estimated) FROM (` + from + `) GROUP BY 2, 3`, args, nil
}

// ownerOf selects the owner of a thread t, also if it was removed.
const ownerOf = `CASE t.removed WHEN 0 THEN t.owner ELSE t.former END`

const (
	sumEvery = 2000 // unsummed rows that a query may add before it starts sumUp
	sumChunk = 500  // rows per transaction, so that other requests do not wait long
)

// sumUp sums rows in the background, sumChunk per transaction.
func (s *Store) sumUp() {
	if s.write == nil || !s.summing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.summing.Store(false)
		for more := true; more; {
			err := s.submitVolatile(context.Background(), func(tx *tx) error {
				more = tx.sumUp()
				return nil
			})
			if err != nil {
				return // the next query tries again
			}
		}
	}()
}

// sumUp sums some rows, and reports whether there are more.
func (tx *tx) sumUp() (more bool) {
	from, _ := tx.queryNumber(`SELECT upto FROM ponder_summed`)
	newest, _ := tx.queryNumber(`SELECT coalesce(max(rowid), 0) FROM ponder_usage`)
	upto := min(newest, from+sumChunk)
	if upto == from {
		return false
	}
	tx.exec(`INSERT INTO ponder_sum (owner, quarter, role, mode, model, calls, failed, money, unknown, input, cache_read, cache_write, output, reasoning, cost, estimated)
		SELECT `+ownerOf+`, u.time / 900000000, u.role, u.mode, u.model, count(*), sum(u.failed), sum(u.money), sum(u.price = 'unknown'),
			sum(u.input), sum(u.cache_read), sum(u.cache_write), sum(u.output), sum(u.reasoning), sum(u.cost), max(u.estimated)
		FROM ponder_usage u NOT INDEXED JOIN ponder_thread t USING (num) WHERE u.rowid > ? AND u.rowid <= ? AND u.tool = '' GROUP BY 1, 2, 3, 4, 5
		ON CONFLICT (owner, quarter, role, mode, model) DO UPDATE SET calls = calls + excluded.calls, failed = failed + excluded.failed,
			money = money + excluded.money, unknown = unknown + excluded.unknown, input = input + excluded.input,
			cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
			output = output + excluded.output, reasoning = reasoning + excluded.reasoning,
			cost = coalesce(cost + excluded.cost, cost, excluded.cost), estimated = max(estimated, excluded.estimated)`, from, upto)
	tx.exec(`UPDATE ponder_summed SET upto = ?`, upto)
	return tx.err == nil && upto < newest
}

// sinceMicros returns the stored form of a time, rounded up. The zero time, which is out of
// range, becomes 0.
func sinceMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return toMicros(t.Add(time.Microsecond - 1))
}

func dayOf(quarters string) (string, error) {
	n, err := strconv.ParseInt(quarters, 10, 64)
	return storerules.Day(time.Unix(0, 0).Add(time.Duration(n) * quarter)), err
}
