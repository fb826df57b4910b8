package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/internal/fileio"

	_ "modernc.org/sqlite" // the driver
)

// Options of connections, by purpose.
const (
	writeOptions = "_txlock=immediate&_error_rc=1&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
		"&_pragma=wal_autocheckpoint(0)&_pragma=journal_size_limit(134217728)&_pragma=cache_size(-8000)&_pragma=secure_delete(on)"
	rescueOptions    = "mode=rw&_txlock=immediate&_error_rc=1&_pragma=busy_timeout(500)&_pragma=synchronous(full)"
	queryOptions     = "_pragma=busy_timeout(10000)&_pragma=query_only(1)&_error_rc=1"
	readOptions      = "mode=rw&" + queryOptions
	readOnlyOptions  = "mode=ro&" + queryOptions
	immutableOptions = "mode=ro&immutable=1&" + queryOptions
	copyOptions      = "mode=ro&_pragma=busy_timeout(10000)&_error_rc=1"
)

// openPool returns a connection pool for a file. It does no I/O.
func openPool(file, how string) *sql.DB {
	u := url.URL{Scheme: "file", Opaque: escapePath(file), RawQuery: how}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		panic(err) // only without the driver
	}
	return db
}

// escapePath returns a path for a file: URL.
func escapePath(file string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(filepath.Clean(file)))
}

// makeFile creates the file if it does not exist. It never opens an existing file, because
// closing it would release the locks of this process on it.
func makeFile(file string) error {
	if file == "" {
		return errors.New("no file name")
	}
	err := checkFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fileio.MakeStateDir(filepath.Dir(file)); err != nil {
		return err
	}
	f, err := fileio.OpenState(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process created it
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkFile returns an error if the path is not a regular file.
func checkFile(file string) error {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return errNoDatabase
	}
	return err
}

var (
	errNoDatabase = errors.New("not a database")
	errForeign    = fmt.Errorf("%w of Ponder, but of another program; choose another file", errNoDatabase)
)

// checkOwn returns an error for a database of another program, of a newer version of Ponder, or of an
// impossible version. It changes nothing, and ignores other errors, which opening reports.
func checkOwn(ctx context.Context, file string) error {
	db := openPool(file, readOnlyOptions)
	defer db.Close()
	version, err := schemaVersion(ctx, db)
	if errors.Is(err, errForeign) || errors.Is(err, errNoVersion) {
		return err
	}
	return checkVersion(version, newest)
}

// openReadOnly returns read-only connections. If SQLite cannot create its lock file,
// because the disk or folder is read-only, it opens the file as immutable. That requires an
// empty WAL.
func openReadOnly(ctx context.Context, file string) (db *sql.DB, still bool, err error) {
	if err := checkFile(file); err != nil {
		return nil, false, err
	}
	db, err = connectChecked(ctx, file, readOnlyOptions)
	if err == nil || !cannotWrite(err) {
		return db, false, err
	}
	if wal, err := os.Stat(file + "-wal"); err == nil && wal.Size() > 0 {
		return nil, false, fmt.Errorf("%w, and %s-wal contains newer changes; copy both files to a writable folder",
			ponder.ErrReadOnly, filepath.Base(file))
	}
	db, err = connectChecked(ctx, file, immutableOptions)
	return db, true, err
}

func connectChecked(ctx context.Context, file, how string) (*sql.DB, error) {
	db := openPool(file, how)
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	version, err := schemaVersion(ctx, db)
	if err == nil {
		err = checkVersion(version, newest)
	}
	if err == nil && version < newest {
		err = fmt.Errorf("its schema has version %d; open it once for writing with this version of Ponder", version)
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// openError explains an error of the operating system.
func openError(err error) error {
	path := (*fs.PathError)(nil)
	if !errors.As(err, &path) {
		return err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %w", ponder.ErrReadOnly, path.Err)
	case readOnlyDisk(err):
		return fmt.Errorf("%w: %w", ponder.ErrReadOnly, path.Err)
	}
	return path.Err
}
