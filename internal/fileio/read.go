package fileio

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"ponder/internal/limitio"
)

// OpenRegular opens a regular file for reading. The error for another kind of file, such as a pipe, names
// the kind. It never waits for another process, and reads of the result end after a time.
func OpenRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	return checkOpened(name, f, err)
}

// OpenIn is [OpenRegular] for a file below root.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	return checkOpened(name, f, err)
}

func checkOpened(name string, f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = CheckRegular(info)
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", name, err)
	}
	_ = f.SetReadDeadline(time.Now().Add(blockTime)) // most regular files never block, and have no deadline
	return f, nil
}

// ReadFile returns the content of a regular file. If it has more than limit bytes, ReadFile returns the
// first limit bytes and [limitio.ErrTooLarge].
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := limitio.ReadAll(f, limit)
	if err != nil {
		return data, pathError("read", name, err)
	}
	return data, nil
}

// CheckRegular returns an error that names the kind of a file that is not regular.
func CheckRegular(info fs.FileInfo) error {
	for mode, name := range fileKinds {
		if info.Mode()&mode != 0 {
			return errors.New(name + ", not a file")
		}
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a file")
	}
	return nil
}

var fileKinds = map[fs.FileMode]string{fs.ModeNamedPipe: "a pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDir: "a folder"}
