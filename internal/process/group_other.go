//go:build !unix

package process

import "os/exec"

func setGroup(*exec.Cmd) {}

// Terminate does nothing on this system.
func Terminate(*exec.Cmd) {}

// Kill kills the command.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
