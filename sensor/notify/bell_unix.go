//go:build unix

package notify

import (
	"os"
	"path/filepath"
	"syscall"
)

// bellFlags keep a terminal from becoming that of the process, and a pipe from blocking.
const bellFlags = syscall.O_NOCTTY | syscall.O_NONBLOCK

// TerminalPath returns the path of the terminal that f is, or "".
func TerminalPath(f *os.File) string {
	is, ok := deviceOf(f.Stat())
	if !ok {
		return ""
	}
	for _, pattern := range []string{"/dev/pts/*", "/dev/tty*", "/dev/console"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			if d, ok := deviceOf(os.Lstat(name)); ok && d == is && name != "/dev/tty" {
				return name
			}
		}
	}
	return ""
}

// deviceOf returns the number of a character device.
func deviceOf(info os.FileInfo, err error) (device uint64, ok bool) {
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return 0, false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(s.Rdev), true
}
