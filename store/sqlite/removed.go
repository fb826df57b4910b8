package sqlite

import (
	"context"

	"ponder"
)

// missingError returns ErrRemoved for a removed thread, else ErrNoThread.
func (s *Store) missingError(ctx context.Context, id ponder.ThreadID) error {
	rows, err := s.statements.QueryShort(ctx, s.read, `SELECT 1 FROM ponder_thread WHERE id = ? AND removed`, string(id))
	if err != nil {
		return explainError(err)
	}
	defer rows.Close()
	if rows.Next() {
		return ponder.ErrRemoved
	}
	if err := rows.Err(); err != nil {
		return explainError(err)
	}
	return ponder.ErrNoThread
}
