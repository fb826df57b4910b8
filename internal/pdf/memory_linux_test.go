package pdf

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"ponder/internal/process"
)

func TestGroupMemory(t *testing.T) {
	proc := t.TempDir()
	page := int64(os.Getpagesize())
	for pid, of := range map[string][2]string{
		"10": {"10 (chrome) S 1 10 10 0 -1", "900 100 40 1 0 50 0"}, "11": {"11 (a b) c) S 10 10 10 0 -1", "900 50 50 1 0 50 0"},
		"12": {"12 (other) S 1 12 12 0 -1", "900 800 0 1 0 50 0"}, "13": {"13 (gone", ""},
	} {
		dir := filepath.Join(proc, pid)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "stat"), []byte(of[0]), 0o600), os.WriteFile(filepath.Join(dir, "statm"), []byte(of[1]), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got := groupMemory(proc, 10); got != 60*page {
		t.Errorf("%d bytes, want %d", got, 60*page)
	}
	if groupMemory("/proc", os.Getpid()) < 0 || privateMemory("/proc/"+strconv.Itoa(os.Getpid())+"/statm") <= 0 {
		t.Error("no memory of this process")
	}
}

// TestPrintMemory checks that a browser above the limit of memory is killed.
func TestPrintMemory(t *testing.T) {
	p := scriptPrinter(t, "while :; do sleep 1; done")
	cmd := process.Spec{Command: []string{p.program}}.Cmd(t.Context())
	if err := process.Start(cmd); err != nil {
		t.Fatal(err)
	}
	killed := watchMemory(t.Context(), cmd, 1, 1)
	if err := cmd.Wait(); err == nil || !killed.Load() {
		t.Errorf("%v, killed %v", err, killed.Load())
	}
}
