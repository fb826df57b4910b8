//go:build !unix

package tui

import "os"

func isForeground(*os.File) bool { return true }

func watchStopSignals(_, _ func()) (undo func()) { return func() {} }

func requestSuspend() {}

func stopProcess() {}
