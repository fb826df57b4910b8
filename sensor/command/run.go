package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"ponder/internal/limitio"
	"ponder/sensor"
)

// An output is what a command printed, and how it ended.
type output struct {
	out, complaints limitio.Writer
	status          string // how it failed; empty: it did not
}

// lines returns what was printed, without what is no text and the white space at its
// ends.
func (o *output) lines() []string {
	var lines []string
	for line := range strings.Lines(o.out.String()) {
		if line = sensor.Line(line, 1000); line != "" && len(lines) < maxLines {
			lines = append(lines, line)
		}
	}
	return lines
}

// complaint returns the last that a command said of what is wrong.
func (o *output) complaint() string {
	text := strings.TrimSpace(o.complaints.String())
	if text == "" {
		text = strings.TrimSpace(o.out.String())
	}
	return sensor.Line(text[strings.LastIndexByte(text, '\n')+1:], 300)
}

// run runs the command. An error says that it could not be started.
func (c *command) run(ctx context.Context) (*output, error) {
	inner, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	cmd := exec.CommandContext(inner, c.Command[0], c.Command[1:]...)
	out := output{out: limitio.Writer{Limit: maxBytes}, complaints: limitio.Writer{Limit: maxBytes}}
	cmd.Dir, cmd.Env = c.Dir, c.environment()
	cmd.Stdout, cmd.Stderr = &out.out, &out.complaints
	cmd.WaitDelay = time.Second
	group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, startError(err)
	}
	err := cmd.Wait()
	end(cmd)
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case inner.Err() != nil:
		out.status = fmt.Sprintf("not done after %v", c.Limit)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		out.status = fmt.Sprintf("status %d", exit.ExitCode())
	case errors.As(err, &exit):
		out.status = sensor.Line(exit.String(), 60)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // of which what was printed is known
		return nil, err
	}
	return &out, nil
}

// startError says what to do about a command that cannot be started.
func startError(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return errors.New("there is no such program or folder: check command and dir")
	}
	return fmt.Errorf("it cannot be started: %w", err)
}

// environment returns the variables that the command is given.
func (c *command) environment() []string {
	var env []string
	for _, name := range append([]string{"PATH", "HOME", "LANG"}, c.Env...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
