//go:build !unix

package app

import (
	"fmt"
	"os"
)

// LockFile writes into a file who keeps the subconscious, and locks nothing here: two
// processes may keep it, which costs no more, for each tick is begun once.
func LockFile(name string) (unlock func(), other string, err error) {
	return func() {}, "", os.WriteFile(name, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600)
}
