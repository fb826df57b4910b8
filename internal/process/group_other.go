//go:build !unix

package process

import "os/exec"

func group(*exec.Cmd) {}

// Terminate does nothing: this system has no such request.
func Terminate(*exec.Cmd) {}

// Kill ends a command.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }
