package placement

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// machineID identifies the machine and the PID namespace.
func machineID() string {
	var name strings.Builder
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(id) > 0 {
		name.WriteString("/" + hashID(string(bytes.TrimSpace(id))))
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		name.WriteString("/" + ns)
	}
	return name.String()
}

// bootID changes at each boot of the machine.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// startTime returns the start of a process in ticks since boot.
func startTime(pid int) (start string, there liveness) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return "", processGone
		}
		return "", processUnknown // /proc may hide processes of other users
	}
	return parseStat(stat)
}

// parseStat reads the start time, field 22 of /proc/PID/stat. The command in parentheses may
// contain anything. A zombie counts as gone.
func parseStat(stat []byte) (start string, there liveness) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", processUnknown
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, begin = 0, 22 - 3 // indexes from the third field
	switch {
	case len(fields) <= begin:
		return "", processUnknown
	case fields[state] == "Z" || fields[state] == "X":
		return "", processGone
	}
	return fields[begin], processAlive
}
