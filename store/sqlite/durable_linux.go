package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// syncData blocks until the disk has the content of a file, and the metadata that reading
// it needs.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
