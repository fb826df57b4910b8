//go:build unix

package app

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ponder/internal/fileio"
)

// LockFile locks a file until unlock or the process ends, and writes the process id. If another
// process holds it, unlock is nil and other is its id.
func LockFile(name string) (unlock func(), other string, err error) {
	f, err := fileio.OpenState(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, "", err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	switch err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &lock); {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		text, _ := io.ReadAll(io.LimitReader(f, 20))
		f.Close()
		return nil, strings.TrimSpace(string(text)), nil
	case err != nil:
		f.Close()
		return nil, "", fmt.Errorf("lock %s: %w", name, err)
	}
	err = errors.Join(f.Truncate(0), writeAt(f, fmt.Sprintf("%d\n", os.Getpid())))
	if err != nil {
		f.Close()
		return nil, "", err
	}
	return func() { f.Close() }, "", nil
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}
