//go:build unix

package document

import (
	"io/fs"
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
