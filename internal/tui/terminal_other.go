//go:build !unix

package tui

import (
	"os"
	"time"
)

func foreground(*os.File) bool { return true }

func attend(_, _, _ func()) (undo func()) { return func() {} }

func askToStop() {}

func stopNow() {}

const lookEvery = 300 * time.Millisecond

// listen feeds what is typed until the terminal is gone. A process that ends
// while it listens loses at most one key.
func listen(in *os.File, stop <-chan struct{}, feed func([]byte) time.Duration, silence func()) {
	buf := make([]byte, 1024)
	for {
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-stop:
			return
		default:
		}
		if feed(buf[:n]) > 0 {
			silence()
		}
	}
}
