// Package process runs programs of the user in a process group, with a small environment and
// without a shell.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Errors of [Run] besides the context's and [exec.ExitError].
var (
	ErrStart   = errors.New("cannot start the program")
	ErrMissing = fmt.Errorf("%w: no such program or folder; check command and dir", ErrStart)
	ErrTimeout = errors.New("the program took too long")
)

// A Spec describes a program to run.
type Spec struct {
	Command        []string // program and arguments
	Dir            string   // default: the current directory
	Env            []string // names of variables, see [Environment]
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Cmd returns the unstarted command, which leads a new process group.
func (s Spec) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...) //nolint:gosec // the user's own
	cmd.Dir, cmd.Env = s.Dir, Environment(s.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	setGroup(cmd)
	return cmd
}

// Environment returns PATH, HOME, LANG and the named variables, as far as they are set.
func Environment(names ...string) []string {
	env := []string{}
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, names...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Run runs a program with a time limit and then kills its remaining processes. It waits a second
// for output that they hold open; that is no error.
func Run(ctx context.Context, limit time.Duration, s Spec) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := s.Cmd(limited)
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return Kill(cmd) }
	err := Start(cmd)
	if err == nil {
		err = cmd.Wait()
		_ = Kill(cmd) // remaining group
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case limited.Err() != nil:
		return ErrTimeout
	case errors.Is(err, exec.ErrWaitDelay):
		return nil
	}
	return err
}

// Start starts a command. Its error is ErrMissing or ErrStart and contains no arguments.
func Start(cmd *exec.Cmd) error {
	err := cmd.Start()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return ErrMissing
	}
	return ErrStart
}
