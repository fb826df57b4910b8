package pdf

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"ponder/internal/fileio"
	"ponder/internal/process"
)

// maxStat bounds a file of /proc, in bytes.
const maxStat = 16 << 10

// watchMemory kills the group of a command above a limit of memory. The result tells whether it did.
func watchMemory(ctx context.Context, cmd *exec.Cmd, limit int64, every time.Duration) *atomic.Bool {
	killed := new(atomic.Bool)
	group := cmd.Process.Pid
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if groupMemory("/proc", group) > limit {
				killed.Store(true)
				_ = process.Kill(cmd)
				return
			}
		}
	}()
	return killed
}

// groupMemory returns the private memory of a process group in bytes, from a folder such as /proc.
func groupMemory(proc string, group int) (sum int64) {
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "stat")) // a bad pattern gives none
	for _, file := range files {
		text, err := fileio.ReadFile(file, maxStat)
		if err != nil {
			continue // ended
		}
		end := bytes.LastIndexByte(text, ')') // the name may contain spaces
		fields := bytes.Fields(text[end+1:])
		const groupField = 2 // after the name
		if len(fields) <= groupField || string(fields[groupField]) != strconv.Itoa(group) {
			continue
		}
		sum += privateMemory(filepath.Join(filepath.Dir(file), "statm"))
	}
	return sum
}

// privateMemory returns the resident memory without shared pages.
func privateMemory(statm string) int64 {
	text, err := fileio.ReadFile(statm, maxStat)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text)
	if len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * int64(os.Getpagesize())
}
