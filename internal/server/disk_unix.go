//go:build unix

package server

import "golang.org/x/sys/unix"

// FreeSpace returns how much may be written where dir is, in bytes.
func FreeSpace(dir string) (free int64, known bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, false
	}
	return int64(fs.Bavail) * int64(fs.Bsize), true
}
