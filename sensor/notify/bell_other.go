//go:build !unix

package notify

import (
	"os"
	"runtime"
)

const bellFlags = 0

// TerminalPath returns the path of the terminal that f is, or "".
func TerminalPath(f *os.File) string {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || runtime.GOOS != "windows" {
		return ""
	}
	return "CONOUT$" // the console of the process
}
