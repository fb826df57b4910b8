package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"ponder"
)

// Events implements [ponder.Log]. It reads each page in its own transaction.
func (s *Store) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for {
			grew := s.grew.Load()
			page, more, err := s.eventPage(ctx, id, after)
			if err != nil {
				yield(ponder.Event{}, fmt.Errorf("read %s: %w", id, explainError(err)))
				return
			}
			for _, ev := range page {
				if !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			if !more && (len(page) == 0 || s.grew.Load() == grew) {
				return // the log grew elsewhere, or not at all
			}
		}
	}
}

// Limits of a page.
const (
	pageRows  = 128
	pageBytes = 1 << 20 // except for a single longer row
)

// A row is a row of ponder_batch.
type row struct {
	pos         int64
	first, last ponder.Seq
	lines       []byte
}

// eventPage returns some events of a thread after one, and reports whether there may be more.
func (s *Store) eventPage(ctx context.Context, id ponder.ThreadID, after ponder.Seq) (page []ponder.Event, more bool, err error) {
	rows, more, err := s.pageRows(ctx, id, max(0, after))
	if err == nil && len(rows) > 0 {
		err = s.waitDurable(ctx, rows[len(rows)-1].pos)
	}
	if err != nil {
		return nil, false, err
	}
	for _, r := range rows {
		if page, err = r.decodeEvents(page, id, after); err != nil {
			return nil, false, err
		}
	}
	return page, more, nil
}

const readPage = `SELECT coalesce(b.pos, 0), coalesce(b.first, 0), coalesce(b.last, 0), b.lines
	FROM ponder_thread t LEFT JOIN ponder_batch b ON b.num = t.num AND b.last > ?
	WHERE t.id = ? AND NOT t.removed ORDER BY b.last LIMIT ?`

func (s *Store) pageRows(ctx context.Context, id ponder.ThreadID, after ponder.Seq) (page []row, more bool, err error) {
	rows, err := s.statements.QueryShort(ctx, s.read, readPage, int64(after), string(id), pageRows)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	found, bytes := false, 0
	for ; bytes < pageBytes && rows.Next(); found = true {
		var r row
		if err := rows.Scan(&r.pos, &r.first, &r.last, &r.lines); err != nil {
			return nil, false, err
		}
		if r.last > 0 {
			page = append(page, r)
			bytes += len(r.lines)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, false, err
	}
	if !found {
		return nil, false, ponder.ErrNoThread
	}
	return page, bytes >= pageBytes || len(page) == pageRows, nil
}

const readKey = `SELECT b.pos, b.first, b.last, b.lines, k.at & ? FROM ponder_thread t JOIN ponder_key k USING (num) JOIN ponder_batch b ON b.pos = k.at >> ?
	WHERE t.id = ? AND NOT t.removed AND k.turn = CASE t.numbered WHEN ? THEN ? ELSE ? END AND k.hash = ?`

// Lookup implements [ponder.Log].
func (s *Store) Lookup(ctx context.Context, id ponder.ThreadID, like ponder.Event) (ev ponder.Event, found bool, err error) {
	ev, err = s.lookupEvent(ctx, id, like)
	if err != nil {
		return ponder.Event{}, false, fmt.Errorf("look up event in %s: %w", id, explainError(err))
	}
	return ev, ev.Seq > 0, nil
}

func (s *Store) lookupEvent(ctx context.Context, id ponder.ThreadID, like ponder.Event) (ev ponder.Event, err error) {
	var r row
	var line int
	h := hashKey(like.Key())
	err = s.statements.First(ctx, s.read, []any{&r.pos, &r.first, &r.last, &r.lines, &line}, readKey, chunkLines-1, lineBits, string(id),
		int64(byCause), byCause.keyNumber(like.Run, like.Cause), byTurn.keyNumber(like.Run, like.Cause), h[:])
	if errors.Is(err, sql.ErrNoRows) {
		_, err = s.threadInfo(ctx, id)
		return ev, err
	}
	if err == nil {
		err = s.waitDurable(ctx, r.pos)
	}
	if err != nil {
		return ev, err
	}
	events, err := r.decodeEvents(nil, id, r.first+ponder.Seq(line)-1)
	if err != nil {
		return ev, err
	}
	return events[0], nil
}

// decodeEvents appends the events of the row with a seq greater than after.
func (r row) decodeEvents(events []ponder.Event, id ponder.ThreadID, after ponder.Seq) ([]ponder.Event, error) {
	seq := r.first
	for line := range bytes.Lines(r.lines) {
		if seq > after {
			var ev ponder.Event
			if err := ev.UnmarshalJSON(line); err != nil {
				return nil, fmt.Errorf("%w: event %d: %w", ponder.ErrDamaged, seq, err)
			}
			ev.Thread, ev.Seq = id, seq
			events = append(events, ev)
		}
		seq++
	}
	if seq != r.last+1 {
		return nil, fmt.Errorf("%w: the batch of events %d to %d contains %d", ponder.ErrDamaged, r.first, r.last, seq-r.first)
	}
	return events, nil
}
