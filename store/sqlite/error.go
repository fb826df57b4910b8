package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ponder"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// explainError returns err as an error of [ponder.Store], in one line.
func explainError(err error) error {
	code, ok := codeOf(err)
	if !ok {
		return openError(err)
	}
	switch code & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ponder.ErrFull, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", ponder.ErrReadOnly, err)
	case sqlite3.SQLITE_NOTADB:
		return errNoDatabase
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ponder.ErrDamaged, err)
	case sqlite3.SQLITE_IOERR:
		return ioError(code, err)
	}
	return err
}

// explainOpen explains an error of opening an existing file. SQLITE_CANTOPEN then means
// that SQLite cannot create a file beside it.
func explainOpen(err error) error {
	if code, ok := codeOf(err); ok && code&0xff == sqlite3.SQLITE_CANTOPEN {
		return fmt.Errorf("%w: its folder is not writable: %w", ponder.ErrReadOnly, err)
	}
	return explainError(err)
}

// ioError separates a full disk from a broken one, and failed writes from failed reads,
// because SQLite does not.
func ioError(code int, err error) error {
	switch {
	case code == sqlite3.SQLITE_IOERR_SHMSIZE, errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: %w", ponder.ErrFull, err)
	case slices.Contains(failedWrites, code):
		return fmt.Errorf("%w: %w", ponder.ErrDisk, err)
	}
	return fmt.Errorf("disk error: %w", err)
}

var failedWrites = []int{
	sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC, sqlite3.SQLITE_IOERR_TRUNCATE,
}

// codeOf returns the extended SQLite code of an error.
func codeOf(err error) (int, bool) {
	e := (*driver.Error)(nil)
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

// isBusy reports whether another process holds the lock.
func isBusy(err error) bool {
	code, ok := codeOf(err)
	return ok && (code&0xff == sqlite3.SQLITE_BUSY || code&0xff == sqlite3.SQLITE_LOCKED)
}

// cannotWrite reports whether a read failed because SQLite could not write a file beside
// the database.
func cannotWrite(err error) bool {
	code, ok := codeOf(err)
	return ok && (code&0xff == sqlite3.SQLITE_CANTOPEN || code&0xff == sqlite3.SQLITE_READONLY)
}

// readOnlyDisk reports whether err is the error of a read-only file system.
func readOnlyDisk(err error) bool { return errors.Is(err, syscall.EROFS) }
