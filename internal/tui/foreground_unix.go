//go:build unix

package tui

import (
	"os"

	"golang.org/x/sys/unix"
)

// foreground reports whether the process may change its terminal: one in the
// background would be stopped for it.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}
