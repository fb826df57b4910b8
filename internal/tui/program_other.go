//go:build !unix

package tui

import "os"

func foreground(*os.File) bool { return true }

func attend(_, _ func()) (undo func()) { return func() {} }

func askToStop() {}

func stopNow() {}
