package process

import (
	"os"

	"golang.org/x/sys/unix"
)

// releasePages returns the pages of a slice to the system. They read as zero afterwards.
func releasePages(p []byte) {
	page := uint64(os.Getpagesize())
	_ = unix.Madvise(p[:uint64(len(p))/page*page], unix.MADV_DONTNEED)
}
