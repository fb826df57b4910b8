//go:build !unix

package document

import (
	"io/fs"
	"path/filepath"
)

// A fileID identifies a file across paths.
type fileID struct{ path string }

func idOf(path string, _ fs.FileInfo) fileID {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return fileID{path}
}
