package sqlite

import (
	"context"
	"fmt"
)

// Copy writes the database, as it is at one moment, to a file that is not there yet, also if
// the store is read-only. Nobody waits for it.
func (s *Store) Copy(ctx context.Context, file string) error {
	how := copying
	if s.immutable {
		how += "&immutable=1"
	}
	db := connect(s.file, how)
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, file); err != nil {
		return fmt.Errorf("copy %s to %s: %w", s.file, file, explain(err))
	}
	return nil
}
