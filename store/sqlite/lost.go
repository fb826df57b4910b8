package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ponder"
)

// Lost returns ErrLost if the opened file was removed or replaced. Writes to such a file
// would vanish with the process, so the store then refuses them.
func (s *Store) Lost() error {
	now, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.opened, now) {
		return fmt.Errorf("%s: %w", s.file, ponder.ErrLost)
	}
	return nil
}
