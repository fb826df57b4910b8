// Package process runs programs of the user: in a group of processes that ends with
// them, with few variables of the environment, and without a shell.
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

// Errors of [Run], beside that of its context and an [exec.ExitError].
var (
	ErrStart   = errors.New("it cannot be started")
	ErrMissing = fmt.Errorf("%w: there is no such program or folder: check command and dir", ErrStart)
	ErrTimeout = errors.New("it took too long")
)

// A Spec says what is run.
type Spec struct {
	Command        []string // the program and its arguments
	Dir            string   // the working folder if empty
	Env            []string // names of variables, see [Environment]
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Cmd returns the command of a spec, which is not started. It leads a group of its own.
func (s Spec) Cmd(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...) //nolint:gosec // the user's own
	cmd.Dir, cmd.Env = s.Dir, Environment(s.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Stdin, s.Stdout, s.Stderr
	group(cmd)
	return cmd
}

// Environment returns PATH, HOME, LANG and the variables of these names that are set.
func Environment(names ...string) []string {
	env := []string{}
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, names...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// Run runs a program for at most a time. What it leaves running ends with it. It waits
// a second for output that processes of it hold open, which is no error.
func Run(ctx context.Context, limit time.Duration, s Spec) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := s.Cmd(limited)
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error { return Kill(cmd) }
	err := Start(cmd)
	if err == nil {
		err = cmd.Wait()
		_ = Kill(cmd) // what is left of the group
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

// Start starts a command. Its error, ErrMissing or ErrStart, names no arguments.
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
