//go:build unix

package document

import (
	"io/fs"
	"os"
	"syscall"
)

// A fileID identifies a file across paths.
type fileID struct{ dev, ino uint64 }

func idOf(_ string, info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), uint64(st.Ino)}
	}
	return fileID{}
}

// openRaw opens a file without blocking, for example on a pipe.
func openRaw(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
}
