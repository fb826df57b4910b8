package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/store/internal/rule"
)

// Request implements [ponder.Ledger].
func (s *Store) Request(ctx context.Context, id ponder.ThreadID, run ponder.RunID, cause string) (*llm.Request, error) {
	h := hash(startKey(run, cause))
	var line int
	var asked []byte
	err := s.known.First(ctx, s.read, []any{&line, &asked}, `SELECT k.at & ?, b.asked FROM ponder_thread t JOIN ponder_key k USING (num) JOIN ponder_batch b ON b.pos = k.at >> ?
		WHERE t.id = ? AND k.turn = CASE t.numbered WHEN ? THEN ? ELSE ? END AND k.hash = ?`, chunkLines-1, lineBits, string(id),
		int64(byCause), byCause.number(run, cause), byTurn.number(run, cause), h[:])
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	var req *llm.Request
	if err == nil {
		req, err = requestOf(asked, line)
	}
	if err != nil {
		return nil, fmt.Errorf("request of %s %s: %w", run, cause, explain(err))
	}
	return req, nil
}

// requestOf returns the request of the event of a line, or nil.
func requestOf(asked []byte, line int) (*llm.Request, error) {
	prefix := strconv.AppendInt(nil, int64(line), 10)
	prefix = append(prefix, ' ')
	for js := range bytes.Lines(asked) {
		js, ok := bytes.CutPrefix(js, prefix)
		if !ok {
			continue
		}
		req := new(llm.Request)
		return req, json.Unmarshal(js, req)
	}
	return nil, nil
}

// groups has the columns that usage is summed by.
var groups = map[ponder.GroupBy]string{
	ponder.ByThread: "t.id",
	ponder.ByRun:    "u.run",
	ponder.ByRole:   "u.role",
	ponder.ByModel:  "u.model",
	ponder.ByMode:   "u.mode",
	ponder.ByDay:    "cast(u.time / 900000000 AS TEXT)", // quarters of an hour: all zones begin their days with one
}

const quarter = 15 * time.Minute

// Usage implements [ponder.Ledger].
func (s *Store) Usage(ctx context.Context, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	rows, err := s.usage(ctx, by, "", sinceMicros(since))
	if err != nil {
		return nil, fmt.Errorf("usage by %s: %w", by, explain(err))
	}
	return rows, nil
}

// UsageOf is [Store.Usage] of the threads of an owner, also of those that were removed.
func (s *Store) UsageOf(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) ([]ponder.UsageRow, error) {
	rows, err := s.usage(ctx, by, " AND CASE t.removed WHEN 0 THEN t.owner ELSE t.former END = ?", sinceMicros(since), owner)
	if err != nil {
		return nil, fmt.Errorf("usage of %s by %s: %w", owner, by, explain(err))
	}
	return rows, nil
}

// HasOthers reports whether there is a thread of anybody but an owner.
func (s *Store) HasOthers(ctx context.Context, owner string) (there bool, err error) {
	err = s.known.First(ctx, s.read, []any{&there}, `SELECT EXISTS (SELECT 1 FROM ponder_thread WHERE owner > ?)
		OR EXISTS (SELECT 1 FROM ponder_thread WHERE owner > '' AND owner < ?)
		OR EXISTS (SELECT 1 FROM ponder_thread WHERE owner = '' AND owner <> ? AND created > 0 AND NOT removed)`, owner, owner, owner)
	if err != nil {
		return false, fmt.Errorf("look for owners beside %s: %w", owner, explain(err))
	}
	return there, nil
}

// usage returns sums over what satisfies a condition beside.
func (s *Store) usage(ctx context.Context, by ponder.GroupBy, condition string, args ...any) ([]ponder.UsageRow, error) {
	group, ok := groups[by]
	if !ok {
		return nil, errors.New("no such group")
	}
	thread, from := "''", "ponder_usage u"
	if by == ponder.ByRun {
		thread = "t.id"
	}
	if by == ponder.ByRun || by == ponder.ByThread || condition != "" {
		from += " JOIN ponder_thread t USING (num)"
	}
	rows, err := s.read.QueryContext(ctx, `SELECT `+group+`, `+thread+`, count(*), sum(u.failed), sum(u.money), sum(u.price = 'unknown'),
			sum(u.input), sum(u.cache_read), sum(u.cache_write), sum(u.output), sum(u.reasoning), sum(u.cost), max(u.estimated)
		FROM `+from+` WHERE u.tool = '' AND u.time >= ?`+condition+` GROUP BY 1, 2`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	tally := make(rule.Tally)
	for rows.Next() {
		var r ponder.UsageRow
		u := &r.Usage
		if err := rows.Scan(&r.Key, &r.Thread, &r.Calls, &r.Failed, &r.Money, &r.Unknown,
			&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning, &u.Cost, &u.Estimated); err != nil {
			return nil, err
		}
		if by == ponder.ByDay {
			if r.Key, err = dayOf(r.Key); err != nil {
				return nil, err
			}
		}
		tally.Add(r)
	}
	return tally.Rows(), rows.Err()
}

// sinceMicros returns a time as it is stored, rounded up. The zero time is out
// of range, and long ago.
func sinceMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t.Add(time.Microsecond - 1))
}

func dayOf(quarters string) (string, error) {
	n, err := strconv.ParseInt(quarters, 10, 64)
	return rule.Day(time.Unix(0, 0).Add(time.Duration(n) * quarter)), err
}

// LoadCheckpoint implements [ponder.Checkpoints].
func (s *Store) LoadCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string) (seq ponder.Seq, state []byte, err error) {
	err = s.known.First(ctx, s.read, []any{&seq, &state}, `SELECT f.seq, f.state FROM ponder_thread t JOIN ponder_fold f USING (num)
		WHERE t.id = ? AND f.fold = ? AND f.version = ?`, string(id), fold, version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, fmt.Errorf("checkpoint of %s: %w", id, explain(err))
	}
	return seq, state, nil
}

// SaveCheckpoint implements [ponder.Checkpoints].
func (s *Store) SaveCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string, seq ponder.Seq, state []byte) error {
	err := s.submit(ctx, len(state), func(tx *tx) error {
		t := tx.thread(id)
		if t == nil || t.removed {
			return ponder.ErrNoThread
		}
		if t.isTainted() {
			return nil
		}
		tx.exec(`INSERT INTO ponder_fold (num, fold, version, seq, state) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (num, fold) DO UPDATE SET version = excluded.version, seq = excluded.seq, state = excluded.state
			WHERE version <> excluded.version OR seq <= excluded.seq`, t.num, fold, version, int64(seq), state)
		return nil
	})
	if err != nil {
		return fmt.Errorf("checkpoint of %s: %w", id, err)
	}
	return nil
}
