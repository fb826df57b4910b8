package process

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// TestRelaxGC checks that the headroom is not resident, even if the runtime takes it from
// memory that the process used before.
func TestRelaxGC(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	used := make([][]byte, 200)
	for i := range used {
		used[i] = make([]byte, 1<<20)
		for j := range used[i] {
			used[i][j] = 1
		}
	}
	clear(used)
	debug.FreeOSMemory()
	before := residentBytes(t)
	restore := RelaxGC()
	defer restore()
	if after := residentBytes(t); after > before+headroom/4 {
		t.Errorf("resident memory grew from %d to %d MiB", before>>20, after>>20)
	}
}

// residentBytes returns the resident memory of this process in bytes.
func residentBytes(t *testing.T) int {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(stat))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
