package metrics

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// process returns what is known of the process itself, under the names that are usual
// for it.
func process() []gauge {
	began := float64(time.Now().UnixMilli()) / 1000
	return []gauge{
		{"process_start_time_seconds", "When the process began, since 1970.", false, func() (float64, bool) { return began, true }},
		{"process_cpu_seconds_total", "CPU time that was used.", true, cpuSeconds},
		{"process_resident_memory_bytes", "Memory of the process.", false, residentBytes},
		{"process_open_fds", "Open files and connections.", false, openFiles},
		{"go_memory_used_bytes", "Memory that the program uses of what it has from the system.", false, heapBytes},
	}
}

// heapBytes returns the memory in use.
func heapBytes() (float64, bool) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 || s[1].Value.Kind() != metrics.KindUint64 {
		return 0, false
	}
	return float64(s[0].Value.Uint64() - s[1].Value.Uint64()), true
}

// The rest is what Linux says in /proc; elsewhere it is not known.

// ticksPerSecond is in which unit Linux tells times of processes, on all machines.
const ticksPerSecond = 100

func cpuSeconds() (float64, bool) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may have spaces
	fields := strings.Fields(rest)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, false
	}
	a, errA := strconv.ParseFloat(fields[user], 64)
	b, errB := strconv.ParseFloat(fields[system], 64)
	return (a + b) / ticksPerSecond, errA == nil && errB == nil
}

func residentBytes() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	return pages * float64(os.Getpagesize()), err == nil
}

func openFiles() (float64, bool) {
	list, err := os.ReadDir("/proc/self/fd")
	return float64(len(list) - 1), err == nil // but the one that is read here
}
