//go:build unix

package main

import "syscall"

// apart makes a process the first of its own session, which no terminal ends.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
