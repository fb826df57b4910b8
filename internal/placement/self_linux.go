package placement

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// machine tells machines of the same name, and spaces of process numbers on one,
// apart.
func machine() string {
	var name strings.Builder
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(id) > 0 {
		name.WriteString("/" + digest(string(bytes.TrimSpace(id))))
	}
	if ns, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		name.WriteString("/" + ns)
	}
	return name.String()
}

// bootID returns what changes when the machine boots.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

// started returns when the process of a number began, in ticks since boot.
func started(pid int) (start string, there answer) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return "", no
		}
		return "", unknown // /proc may hide what others run
	}
	return parseStat(stat)
}

// parseStat reads /proc/PID/stat: a number, a name in parentheses that may have
// anything in it, the state, and more numbers, of which the 22nd field is when the
// process began. What is dead, and only waits to be reaped, is not there.
func parseStat(stat []byte) (start string, there answer) {
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", unknown
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, begin = 0, 22 - 3 // counted from the third
	switch {
	case len(fields) <= begin:
		return "", unknown
	case fields[state] == "Z" || fields[state] == "X":
		return "", no
	}
	return fields[begin], yes
}
