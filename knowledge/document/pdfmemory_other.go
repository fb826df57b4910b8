//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package document

// reserveMemory returns memory of the heap, which these systems assign at its first use.
func reserveMemory(n int) []byte { return make([]byte, n) }

func commitMemory([]byte) error { return nil }

func releaseMemory([]byte) {}

// checkExecutable returns nil: these systems do not restrict executable memory.
func checkExecutable() error { return nil }
