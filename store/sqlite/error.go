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

// explain returns err as what [ponder.Store] calls it, and in one line.
func explain(err error) error {
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

// explainOpen returns an error of opening a database that is there: if it cannot
// be opened, something beside it cannot be made.
func explainOpen(err error) error {
	if code, ok := codeOf(err); ok && code&0xff == sqlite3.SQLITE_CANTOPEN {
		return fmt.Errorf("%w: its folder cannot be written: %w", ponder.ErrReadOnly, err)
	}
	return explain(err)
}

// ioError tells a full disk from a broken one, where SQLite does not, and one that cannot be
// written from one that cannot be read.
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

// codeOf returns SQLite's extended code of an error.
func codeOf(err error) (int, bool) {
	e := (*driver.Error)(nil)
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

// isBusy reports whether another process writes.
func isBusy(err error) bool {
	code, ok := codeOf(err)
	return ok && (code&0xff == sqlite3.SQLITE_BUSY || code&0xff == sqlite3.SQLITE_LOCKED)
}

// cannotWrite reports whether a database could not be read because something
// beside it could not be written.
func cannotWrite(err error) bool {
	code, ok := codeOf(err)
	return ok && (code&0xff == sqlite3.SQLITE_CANTOPEN || code&0xff == sqlite3.SQLITE_READONLY)
}

// readOnlyDisk reports whether err says that a file system is read-only.
func readOnlyDisk(err error) bool { return errors.Is(err, syscall.EROFS) }
