//go:build !linux

package pdf

import (
	"context"
	"os/exec"
	"sync/atomic"
	"time"
)

// watchMemory does nothing: only Linux tells the memory of a process group.
func watchMemory(context.Context, *exec.Cmd, int64, time.Duration) *atomic.Bool {
	return new(atomic.Bool)
}
