//go:build !unix

package mcp

import "os/exec"

func group(*exec.Cmd) {}

func terminate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
