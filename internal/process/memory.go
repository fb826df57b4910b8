package process

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryShare is the share of the limit of the control group that the Go runtime gets. The
// rest is for the memory of SQLite and of the PDF engine, and for machine code.
const memoryShare = 0.8

// LimitMemory sets the memory limit of the Go runtime from the control group, so that the
// runtime collects garbage before the kernel ends the process. It does nothing if the user
// sets GOMEMLIMIT.
func LimitMemory() {
	_, _ = memlimit.Set(memlimit.WithRatio(memoryShare)) // without a readable limit, there is none
}

// MemoryLimit returns the memory limit of the Go runtime in bytes and its origin, or 0.
func MemoryLimit() (limit int64, from string) {
	limit = debug.SetMemoryLimit(-1)
	switch {
	case limit == math.MaxInt64:
		return 0, ""
	case os.Getenv("GOMEMLIMIT") != "":
		return limit, "GOMEMLIMIT"
	}
	return limit, "the control group"
}
