//go:build linux || darwin || freebsd || netbsd || openbsd

package crash

import (
	"os"
	"syscall"
)

// lockFile locks a file until it is closed or the process ends. It returns false if another
// process holds the lock.
func lockFile(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
