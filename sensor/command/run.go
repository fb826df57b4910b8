package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"ponder/internal/limitio"
	"ponder/internal/process"
	"ponder/sensor"
)

type output struct {
	stdout, stderr limitio.Writer
	status         string // failure; empty after success
}

// printableLines returns the printable lines without surrounding white space.
func (o *output) printableLines() []string {
	var lines []string
	for line := range strings.Lines(o.stdout.String()) {
		if line = sensor.Line(line, 1000); line != "" && len(lines) < maxLines {
			lines = append(lines, line)
		}
	}
	return lines
}

// errorLine returns the last line of the error output, or else of the output.
func (o *output) errorLine() string {
	text := strings.TrimSpace(o.stderr.String())
	if text == "" {
		text = strings.TrimSpace(o.stdout.String())
	}
	return sensor.Line(text[strings.LastIndexByte(text, '\n')+1:], 300)
}

// run runs the command. It returns an error only if the command did not start.
func (c *command) run(ctx context.Context) (*output, error) {
	out := output{stdout: limitio.Writer{Limit: maxBytes}, stderr: limitio.Writer{Limit: maxBytes}}
	err := process.Run(ctx, c.Limit, process.Spec{Command: c.Command, Dir: c.Dir, Env: c.Env, Stdout: &out.stdout, Stderr: &out.stderr})
	exit := (*exec.ExitError)(nil)
	switch {
	case errors.Is(err, process.ErrTimeout):
		out.status = fmt.Sprintf("not done after %v", c.Limit)
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		out.status = fmt.Sprintf("status %d", exit.ExitCode())
	case errors.As(err, &exit):
		out.status = sensor.Line(exit.String(), 60)
	case err != nil:
		return nil, err
	}
	return &out, nil
}
