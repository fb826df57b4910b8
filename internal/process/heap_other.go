//go:build !linux

package process

// releasePages does nothing: MADV_DONTNEED frees pages at once on Linux only.
func releasePages([]byte) {}
