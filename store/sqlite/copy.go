package sqlite

import (
	"context"
	"fmt"
)

// Copy writes a snapshot of the database to a new file. It works on a read-only store, and
// blocks no writer.
func (s *Store) Copy(ctx context.Context, file string) error {
	how := copyOptions
	if s.immutable {
		how += "&immutable=1"
	}
	db := openPool(s.file, how)
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, file); err != nil {
		return fmt.Errorf("copy %s to %s: %w", s.file, file, explainError(err))
	}
	return nil
}
