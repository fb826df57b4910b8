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
	out, complaints limitio.Writer
	status          string // failure; empty after success
}

// lines returns the printable lines without surrounding white space.
func (o *output) lines() []string {
	var lines []string
	for line := range strings.Lines(o.out.String()) {
		if line = sensor.Line(line, 1000); line != "" && len(lines) < maxLines {
			lines = append(lines, line)
		}
	}
	return lines
}

// complaint returns the last line of the error output, or else of the output.
func (o *output) complaint() string {
	text := strings.TrimSpace(o.complaints.String())
	if text == "" {
		text = strings.TrimSpace(o.out.String())
	}
	return sensor.Line(text[strings.LastIndexByte(text, '\n')+1:], 300)
}

// run runs the command. It returns an error only if the command did not start.
func (c *command) run(ctx context.Context) (*output, error) {
	out := output{out: limitio.Writer{Limit: maxBytes}, complaints: limitio.Writer{Limit: maxBytes}}
	err := process.Run(ctx, c.Limit, process.Spec{Command: c.Command, Dir: c.Dir, Env: c.Env, Stdout: &out.out, Stderr: &out.complaints})
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
