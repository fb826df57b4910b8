package sqlite

import (
	"errors"
	"testing"

	"ponder"

	sqlite3 "modernc.org/sqlite/lib"
)

func TestDiskErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		code       int
		disk, full bool
	}{
		"a write":  {sqlite3.SQLITE_IOERR_WRITE, true, false},
		"a sync":   {sqlite3.SQLITE_IOERR_FSYNC, true, false},
		"no space": {sqlite3.SQLITE_IOERR_SHMSIZE, false, true},
		"a read":   {sqlite3.SQLITE_IOERR_READ, false, false},
	} {
		err := ioError(tt.code, errors.New("disk I/O error"))
		if errors.Is(err, ponder.ErrDisk) != tt.disk || errors.Is(err, ponder.ErrReadOnly) != tt.disk || errors.Is(err, ponder.ErrFull) != tt.full {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
