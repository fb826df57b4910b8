package system

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"ponder/internal/limitio"
	"runtime"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/shirou/gopsutil/v4/load"
	"github.com/shirou/gopsutil/v4/mem"
)

// Limits of systemctl.
const (
	unitsTime  = 5 * time.Second
	unitsBytes = 64 << 10
)

// A reader reads the state of this machine.
type reader struct {
	mounts []string
}

// readMetrics reads the available values. It fails only if there are none.
func (r reader) readMetrics(ctx context.Context) (Metrics, error) {
	out := Metrics{Load: -1, Memory: -1, Swap: -1, Disks: map[string]float64{}}
	var errs []error
	if avg, err := load.AvgWithContext(ctx); err == nil {
		out.Load, out.Cores = avg.Load5, countCores(ctx)
	} else {
		errs = append(errs, err)
	}
	if vm, err := mem.VirtualMemoryWithContext(ctx); err == nil && vm.Total > 0 {
		out.Memory = 100 * (1 - float64(min(vm.Available, vm.Total))/float64(vm.Total))
	} else if err != nil {
		errs = append(errs, err)
	}
	if swap, err := mem.SwapMemoryWithContext(ctx); err == nil && swap.Total > 0 {
		out.Swap = 100 * float64(swap.Used) / float64(swap.Total)
	}
	for _, mount := range r.mounts {
		if use, err := disk.UsageWithContext(ctx, mount); err == nil && use.Total > 0 {
			out.Disks[mount] = use.UsedPercent
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	if out.Load < 0 && out.Memory < 0 && len(out.Disks) == 0 {
		return out, errors.Join(errs...)
	}
	out.Failed, out.Units = failedUnits(ctx)
	return out, ctx.Err()
}

func countCores(ctx context.Context) int {
	if n, err := cpu.CountsWithContext(ctx, true); err == nil && n > 0 {
		return n
	}
	return runtime.NumCPU()
}

// failedUnits returns the failed units of systemd and whether they are known.
func failedUnits(ctx context.Context) ([]string, bool) {
	path, err := exec.LookPath("systemctl")
	if err != nil {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, unitsTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--failed", "--plain", "--no-legend", "--no-pager", "--no-ask-password")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LC_ALL=C", "SYSTEMD_COLORS=0"}
	cmd.WaitDelay = time.Second
	out := limitio.Writer{Limit: unitsBytes}
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return nil, false
	}
	return parseUnits(strings.NewReader(out.String())), true
}

func parseUnits(list io.Reader) []string {
	var units []string
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		fields := strings.Fields(strings.TrimLeft(lines.Text(), "●* "))
		if len(fields) > 0 && strings.Contains(fields[0], ".") {
			units = append(units, fields[0])
		}
	}
	return units
}
