//go:build !unix

package app

import (
	"fmt"
	"os"

	"ponder/internal/fileio"
)

// LockFile only writes the process id. Two processes may then run the subconscious, which costs
// nothing more: each tick starts once.
func LockFile(name string) (unlock func(), other string, err error) {
	return func() {}, "", fileio.WriteState(name, fmt.Appendf(nil, "%d\n", os.Getpid()))
}
