package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// syncData waits until what is in a file is on the disk, and of what is known of the file
// all that it takes to read it.
func syncData(f *os.File) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
