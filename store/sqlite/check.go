package sqlite

import (
	"context"
	"fmt"

	"ponder"
)

// Damaged returns ErrDamaged after a write failed because the database is damaged.
func (s *Store) Damaged() error {
	if s.damaged.Load() {
		return ponder.ErrDamaged
	}
	return nil
}

// Check reads each page and each event, which takes minutes for gigabytes. It returns
// ErrDamaged with the first problem, or nil. It changes nothing. It does not compare
// indexes with their tables.
func (s *Store) Check(ctx context.Context) error {
	var result string
	if err := s.read.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&result); err != nil {
		return explainError(err)
	}
	if result != "ok" {
		return fmt.Errorf("%w: %.200s", ponder.ErrDamaged, result)
	}
	for after := int64(0); ; {
		last, err := s.checkRows(ctx, after)
		if err != nil || last == after {
			return explainError(err)
		}
		after = last
	}
}

// checkRows checks a page of rows of all threads after pos, and returns the pos of the
// last.
func (s *Store) checkRows(ctx context.Context, after int64) (last int64, err error) {
	rows, err := s.read.QueryContext(ctx, `SELECT b.pos, t.id, b.first, b.last, b.lines FROM ponder_batch b JOIN ponder_thread t USING (num)
		WHERE b.pos > ? AND NOT t.removed ORDER BY b.pos LIMIT ?`, after, pageRows)
	if err != nil {
		return after, err
	}
	defer rows.Close()
	for last = after; rows.Next(); {
		var r row
		var id ponder.ThreadID
		if err := rows.Scan(&last, &id, &r.first, &r.last, &r.lines); err != nil {
			return after, err
		}
		if _, err := r.decodeEvents(nil, id, 0); err != nil && r.last > 0 {
			return after, fmt.Errorf("%s: %w", id, err)
		}
	}
	return last, rows.Err()
}
