package sqlite

import (
	"context"

	"ponder"
)

// missing returns ErrRemoved for a removed thread, else ErrNoThread.
func (s *Store) missing(ctx context.Context, id ponder.ThreadID) error {
	rows, err := s.statements.Short(ctx, s.read, `SELECT 1 FROM ponder_thread WHERE id = ? AND removed`, string(id))
	if err != nil {
		return explain(err)
	}
	defer rows.Close()
	if rows.Next() {
		return ponder.ErrRemoved
	}
	if err := rows.Err(); err != nil {
		return explain(err)
	}
	return ponder.ErrNoThread
}
