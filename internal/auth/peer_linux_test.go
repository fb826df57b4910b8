package auth

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const otherUser = 65534

// becomeOther lets a command run as another user, and reports whether that is possible. It copies the program to a folder
// that the user can read.
func becomeOther(t *testing.T, cmd *exec.Cmd) bool {
	t.Helper()
	program, err := os.ReadFile(cmd.Path)
	if os.Getuid() != 0 || err != nil {
		return false
	}
	dir, err := os.MkdirTemp("/tmp", "peer")
	if err != nil || os.Chmod(dir, 0o755) != nil { //nolint:gosec // for the other user
		return false
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd.Path = filepath.Join(dir, "client")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: otherUser, Gid: otherUser}}
	return os.WriteFile(cmd.Path, program, 0o755) == nil //nolint:gosec // for the other user
}
