package process

import (
	"os"
	"runtime"
	"runtime/debug"
)

// headroom is the size in bytes of a slice that no code touches. The garbage collector counts
// it as live, so that a small heap grows by half of headroom before each collection.
const headroom = 128 << 20

// RelaxGC makes collections rarer while the heap is small: a small heap grows by 64 MiB
// between two of them, a large one by about half. The headroom takes address space, but no
// memory. RelaxGC does nothing if the user sets GOGC or GOMEMLIMIT, or under a small memory
// limit, which includes the headroom. The caller must call restore, which undoes it.
func RelaxGC() (restore func()) {
	limit, _ := MemoryLimit()
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || limit > 0 && limit < 8*headroom {
		return func() {}
	}
	old := debug.SetGCPercent(50)
	slice := make([]byte, headroom)
	releasePages(slice) // the runtime clears the slice if it reuses memory
	return func() {
		debug.SetGCPercent(old)
		runtime.KeepAlive(slice)
	}
}
