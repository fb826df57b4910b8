//go:build unix

package tui

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// foreground reports whether the process may change its terminal: one in the
// background would be stopped for it.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// attend tells of the signals that have to do with a terminal: that its size has
// changed, that it was another's for a while, and that the process is to stop,
// until it is undone.
func attend(resized, back, stop func()) (undo func()) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	if !signal.Ignored(syscall.SIGTSTP) {
		signal.Notify(signals, syscall.SIGTSTP)
	}
	go func() {
		for s := range signals {
			switch s {
			case syscall.SIGWINCH:
				resized()
			case syscall.SIGCONT:
				back()
			case syscall.SIGTSTP:
				stop()
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

// askToStop does what ctrl+z does: all processes of the job are asked to stop,
// this one among them.
func askToStop() {
	if !signal.Ignored(syscall.SIGTSTP) {
		_ = syscall.Kill(0, syscall.SIGTSTP)
	}
}

// stopNow stops the process. It may return shortly before that.
func stopNow() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }

// lookEvery is how long a terminal that is another's is left alone.
const lookEvery = 300 * time.Millisecond

// listen feeds what is typed until stop is closed or the terminal is gone. It
// reads only what is there, so that it takes no key from who comes after, and only
// in the foreground. Silence is called if nothing came for as long as feed said.
func listen(in *os.File, stop <-chan struct{}, feed func([]byte) time.Duration, silence func()) {
	wake, ring, err := os.Pipe()
	if err != nil {
		return
	}
	defer wake.Close()
	go func() {
		<-stop
		ring.Close()
	}()
	buf := make([]byte, 1024)
	var patience time.Duration
	for {
		mine := foreground(in)
		ready, closed, err := await(in, wake, mine, patience)
		switch {
		case err != nil || closed:
			return
		case ready:
			n, err := unix.Read(int(in.Fd()), buf)
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
				continue
			}
			if err != nil || n <= 0 {
				return
			}
			patience = feed(buf[:n])
		case mine && patience > 0:
			patience = 0
			silence()
		}
	}
}

// await waits until there is something to read, the wake is closed, or the
// patience is at its end; zero is none.
func await(in, wake *os.File, mine bool, patience time.Duration) (ready, closed bool, err error) {
	var set unix.FdSet
	set.Set(int(wake.Fd()))
	wait := patience
	if mine {
		set.Set(int(in.Fd()))
	} else {
		wait = lookEvery
	}
	var timeout *unix.Timeval
	if wait > 0 {
		t := unix.NsecToTimeval(wait.Nanoseconds())
		timeout = &t
	}
	n, err := unix.Select(max(int(in.Fd()), int(wake.Fd()))+1, &set, nil, nil, timeout)
	if errors.Is(err, unix.EINTR) {
		return false, false, nil
	}
	if err != nil || n == 0 {
		return false, false, err
	}
	return mine && set.IsSet(int(in.Fd())), set.IsSet(int(wake.Fd())), nil
}
