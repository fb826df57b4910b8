package main

import (
	"os"
	"strconv"
	"strings"

	"ponder"
)

// thisNode says which process this is. Machines of the same name, and containers
// on one, are told apart by their space of process numbers.
func thisNode() ponder.Node {
	name, err := os.Hostname()
	space, err2 := os.Readlink("/proc/self/ns/pid")
	boot, err3 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	pid := os.Getpid()
	start, ok := startOf(pid)
	if err != nil || err2 != nil || err3 != nil || !ok {
		return ponder.Node{} // then only silence tells
	}
	return ponder.Node{Host: name + " " + space, Boot: strings.TrimSpace(string(boot)), PID: pid, Start: start}
}

// startOf returns when a process began, in ticks since the machine booted.
func startOf(pid int) (start string, running bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	// The second field is the program's name, in parentheses, and may have spaces.
	_, rest, ok := strings.Cut(string(stat)[strings.LastIndexByte(string(stat), ')'):], " ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return "", false
	}
	return fields[19], true
}
