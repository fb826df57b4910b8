// Package fileio creates files and folders with the permissions that their content needs, and opens
// files that others may have put in place of a regular one.
//
// There are three kinds of files:
//   - State belongs to Ponder: the log, locks, settings. Its mode is 0600, and 0700 for folders,
//     whatever the umask is.
//   - Private files are results for the user that contain thoughts, secrets or documents, such as
//     reports and backups. Their mode is 0600 without the bits of the umask.
//   - Shared files contain no text of the user, such as manual pages. Their mode is 0666 without the
//     bits of the umask.
package fileio

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	stateMode  fs.FileMode = 0o600
	sharedMode fs.FileMode = 0o666
	folderMode fs.FileMode = 0o700
)

// blockTime limits each read and write of files that may block, such as pipes.
const blockTime = 10 * time.Second

// MakeStateDir creates a folder and its parents for the user alone. It leaves existing ones as they
// are.
func MakeStateDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errors.New("not a folder")}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if parent := filepath.Dir(dir); parent != dir {
		if err := MakeStateDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, folderMode); err != nil {
		if errors.Is(err, fs.ErrExist) { // by another process
			return nil
		}
		return err
	}
	return os.Chmod(dir, folderMode) // the umask may forbid the user too
}

// MakeSharedDir creates a folder for shared files, and its parents.
func MakeSharedDir(dir string) error { return os.MkdirAll(dir, 0o777) }

// MakeTempDir creates a folder for the user alone, as [os.MkdirTemp] does. The caller removes it.
func MakeTempDir(parent, pattern string) (string, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err == nil {
		err = os.Chmod(dir, folderMode)
	}
	return dir, err
}

// OpenState opens a file for writing with further flags, such as os.O_CREATE, and removes permissions
// of others.
func OpenState(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, flags|openFlags, stateMode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = CheckRegular(info)
	}
	if err == nil && info.Mode().Perm() != stateMode {
		err = f.Chmod(stateMode)
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", name, err)
	}
	return f, nil
}

// WriteState replaces a file of the state in one step.
func WriteState(name string, data []byte) error {
	return replace(name, data, stateMode, func(fs.FileMode) fs.FileMode { return stateMode })
}

// WritePrivate replaces a private file in one step, or writes to a device or pipe. No user who could not
// read the old file can read the new one. If name is a link to a file, the new file replaces the link.
func WritePrivate(name string, data []byte) error { return writeResult(name, data, stateMode) }

// WriteShared is WritePrivate for a shared file.
func WriteShared(name string, data []byte) error { return writeResult(name, data, sharedMode) }

func writeResult(name string, data []byte, mode fs.FileMode) error {
	limit := sharedMode
	if info, err := os.Stat(name); err == nil {
		if isDevice(name, info) {
			return writeDevice(name, data, info)
		}
		limit = info.Mode().Perm()
	}
	return replace(name, data, mode, func(created fs.FileMode) fs.FileMode { return created & limit })
}

// ExplainFolder explains why no file can be created in a folder, without the temporary name.
func ExplainFolder(dir string, err error) error {
	info, statErr := os.Stat(dir)
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist) && statErr == nil && info.IsDir():
		return fmt.Errorf("cannot create a file in folder %s", dir)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no such folder: %s", dir)
	case errors.As(err, &path):
		return fmt.Errorf("folder %s: %w", dir, path.Err)
	}
	return err
}

// replace writes a new file beside name and renames it. The file gets the mode without the bits of the
// umask; finalMode may change that.
func replace(name string, data []byte, mode fs.FileMode, finalMode func(created fs.FileMode) fs.FileMode) error {
	f, err := createTemp(filepath.Dir(name), mode)
	if err != nil {
		return ExplainFolder(filepath.Dir(name), err)
	}
	defer os.Remove(f.Name()) // fails after the rename
	_, err = f.Write(data)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr); err == nil && finalMode(info.Mode().Perm()) != info.Mode().Perm() {
		err = f.Chmod(finalMode(info.Mode().Perm()))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// MovePrivate renames a state file to a private file of the user.
func MovePrivate(from, to string) error {
	probe, err := createTemp(filepath.Dir(from), stateMode)
	if err != nil {
		return err
	}
	info, err := probe.Stat()
	if err = errors.Join(err, probe.Close(), os.Remove(probe.Name())); err == nil {
		err = os.Chmod(from, info.Mode().Perm())
	}
	if err != nil {
		return err
	}
	return os.Rename(from, to)
}

func createTemp(dir string, mode fs.FileMode) (f *os.File, err error) {
	for range 100 {
		f, err = os.OpenFile(filepath.Join(dir, fmt.Sprintf(".ponder-%d", rand.Uint64())), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// isDevice reports whether a file is no regular file, or an open file of a process, such as /dev/stdout,
// which must not be replaced.
func isDevice(name string, info fs.FileInfo) bool {
	abs, err := filepath.Abs(name)
	dir, rest, _ := strings.Cut(strings.TrimPrefix(abs, "/"), "/")
	return !info.Mode().IsRegular() || err == nil && (dir == "proc" || dir == "dev" && !strings.HasPrefix(rest, "shm/"))
}

// writeDevice writes to a terminal, to a pipe with a reader, or to another device of characters.
func writeDevice(name string, data []byte, info fs.FileInfo) error {
	if info.Mode()&(fs.ModeCharDevice|fs.ModeNamedPipe) == 0 && !info.Mode().IsRegular() {
		return pathError("write", name, CheckRegular(info))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|openFlags, 0)
	if errors.Is(err, errNoReader) {
		err = errors.New("no program reads this pipe: start its reader first, or name a file")
	}
	if err != nil {
		return pathError("write", name, err)
	}
	defer f.Close()
	for len(data) > 0 && err == nil {
		_ = f.SetWriteDeadline(time.Now().Add(blockTime)) // regular files have no deadline
		n := 0
		n, err = f.Write(data[:min(len(data), 1<<16)])
		data = data[n:]
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errors.New("its reader has stopped reading")
	}
	if err != nil {
		return pathError("write", name, err)
	}
	return nil
}

func pathError(op, name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
