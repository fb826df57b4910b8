//go:build unix

package server

import "golang.org/x/sys/unix"

// FreeSpace returns the bytes available on the file system of dir.
func FreeSpace(dir string) (free int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
