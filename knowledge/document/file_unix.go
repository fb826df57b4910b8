//go:build unix

package document

import (
	"io/fs"
	"os"
	"syscall"
)

// A fileID tells whether two paths are one file.
type fileID struct{ dev, ino uint64 }

func idOf(_ string, info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), uint64(st.Ino)}
	}
	return fileID{}
}

// openRaw opens a file and never waits, as it would for one end of a pipe.
func openRaw(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
}
