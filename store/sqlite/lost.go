package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"ponder"
)

// Lost returns ErrLost once the file that was opened is not there any more, or is another
// one: what is written to it now is gone with the process. While that is so, nothing is
// written.
func (s *Store) Lost() error {
	now, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(s.opened, now) {
		return fmt.Errorf("%s: %w", s.file, ponder.ErrLost)
	}
	return nil
}
