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

	_ "modernc.org/sqlite" // the driver
)

// What connections are for.
const (
	writing = "_txlock=immediate&_error_rc=1&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
		"&_pragma=wal_autocheckpoint(0)&_pragma=journal_size_limit(134217728)&_pragma=cache_size(-8000)&_pragma=secure_delete(on)"
	rescuing  = "mode=rw&_error_rc=1&_pragma=busy_timeout(500)&_pragma=synchronous(full)"
	asking    = "_pragma=busy_timeout(10000)&_pragma=query_only(1)&_error_rc=1"
	reading   = "mode=rw&" + asking
	looking   = "mode=ro&" + asking
	immutable = "mode=ro&immutable=1&" + asking
	copying   = "mode=ro&_pragma=busy_timeout(10000)&_error_rc=1"
)

// connect returns connections to a file. It does no I/O.
func connect(file, how string) *sql.DB {
	u := url.URL{Scheme: "file", Opaque: escape(file), RawQuery: how}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		panic(err) // only if there were no such driver
	}
	return db
}

// escape returns a path as the path of a file: URL.
func escape(file string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(filepath.Clean(file)))
}

// makeFile makes sure that there is a file that can be written. It never opens
// one that is there: closing it would end the locks that this process has on it.
func makeFile(file string) error {
	if file == "" {
		return errors.New("no file is named")
	}
	err := checkFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkFile returns an error if what is there is no file.
func checkFile(file string) error {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() {
		return errNoDatabase
	}
	return err
}

var (
	errNoDatabase = errors.New("not a database")
	errForeign    = fmt.Errorf("%w of Ponder, but of another program: name another file", errNoDatabase)
)

// checkOwn returns errForeign if the file is a database of another program, which it leaves as
// it is. What else is wrong with it is found when it is opened.
func checkOwn(ctx context.Context, file string) error {
	db := connect(file, looking)
	defer db.Close()
	if _, err := schemaVersion(ctx, db); errors.Is(err, errForeign) {
		return err
	}
	return nil
}

// openReadOnly returns connections that only look. Where a database in WAL mode
// cannot have its lock file, because the disk or folder is read-only, it is
// read as a file that stands still, if no changes wait beside it.
func openReadOnly(ctx context.Context, file string) (db *sql.DB, still bool, err error) {
	if err := checkFile(file); err != nil {
		return nil, false, err
	}
	db, err = look(ctx, file, looking)
	if err == nil || !cannotWrite(err) {
		return db, false, err
	}
	if wal, err := os.Stat(file + "-wal"); err == nil && wal.Size() > 0 {
		return nil, false, fmt.Errorf("%w, and the newest changes are in %s-wal: copy both files to where they can be written",
			ponder.ErrReadOnly, filepath.Base(file))
	}
	db, err = look(ctx, file, immutable)
	return db, true, err
}

func look(ctx context.Context, file, how string) (*sql.DB, error) {
	db := connect(file, how)
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	version, err := schemaVersion(ctx, db)
	if err == nil {
		err = checkVersion(version, newest)
	}
	if err == nil && version < newest {
		err = fmt.Errorf("its tables are of version %d: open it once to write with this version", version)
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
