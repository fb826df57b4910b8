//go:build unix

package tui

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// isForeground reports whether the process may change its terminal; the system stops a background
// process that does.
func isForeground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// watchStopSignals calls stop when the process gets a stop signal, and back when it continues.
func watchStopSignals(stop, back func()) (undo func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGCONT)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGCONT {
				back()
			} else {
				stop()
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// requestSuspend stops the job, like ctrl+z in a shell.
func requestSuspend() {
	if !signal.Ignored(syscall.SIGTSTP) {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
}

// stopProcess stops the process. It may return shortly before that.
func stopProcess() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
