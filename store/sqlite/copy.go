package sqlite

import (
	"context"
	"fmt"
	"os"

	"ponder/internal/fileio"
)

// Copy writes a snapshot of the database to a new file. It works on a read-only store, and
// blocks no writer.
func (s *Store) Copy(ctx context.Context, file string) error {
	how := copyOptions
	if s.immutable {
		how += "&immutable=1"
	}
	// SQLite would let other users read a file that it creates.
	f, err := fileio.OpenState(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", s.file, err)
	}
	db := openPool(s.file, how)
	defer db.Close()
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, file); err != nil {
		return fmt.Errorf("copy %s to %s: %w", s.file, file, explainError(err))
	}
	return nil
}
