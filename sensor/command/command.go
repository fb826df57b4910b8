// Package command implements the sensor of a command: it reports changes of the output and
// failures.
//
// The command runs without a shell, for at most 15 seconds, with a small environment. Its
// remaining processes are killed. A State starts with "changed", "failed" or "ok", then an
// identifier. The sensor reports frequent changes more and more rarely.
//
// The cursor is a [cursor]: hashes of the last reported lines.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/sensor"
)

// Options configure the sensor.
type Options struct {
	Command []string      // program and arguments
	Every   time.Duration // minimal interval; 0: each look
	Dir     string        // working directory; default the current one
	Env     []string      // names of variables to pass besides PATH, HOME and LANG
	Limit   time.Duration // time limit; default and maximum 15 s
	Trusted bool          // no untrusted text in the output
}

// Limits.
const (
	maxRunTime   = 15 * time.Second
	maxBytes     = 16 << 10 // of output
	maxLines     = 500
	recoveryTime = 15 * time.Minute // time after a failure before "ok"
)

// A cursor records the last report.
type cursor struct {
	Lines  []string `json:"lines"`            // hashes
	Status string   `json:"status,omitempty"` // failure; empty after success
	Turns  int      `json:"turns,omitempty"`  // number of changes between failure and success
	Times  int      `json:"n,omitempty"`      // changes without a quiet time
	At     int64    `json:"at,omitempty"`     // last reported change, Unix seconds
}

type command struct {
	Options
	mu      sync.Mutex
	lastRun time.Time
	last    *output
}

// New returns the sensor "command".
func New(o Options) sensor.Sensor {
	if o.Limit <= 0 || o.Limit > maxRunTime {
		o.Limit = maxRunTime
	}
	return sensor.Sensor{Name: "command", Look: (&command{Options: o}).look}
}

func (c *command) look(ctx context.Context, now time.Time, raw json.RawMessage) ([]ponder.Observation, json.RawMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.Command) == 0 || c.Command[0] == "" {
		return nil, nil, errors.New("run a command: the command is missing; set the program and its arguments")
	}
	if c.last == nil || now.Before(c.lastRun) || now.Sub(c.lastRun) >= c.Every {
		out, err := c.run(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", c.programName(), err)
		}
		c.last, c.lastRun = out, now
	}
	var before cursor
	if json.Unmarshal(raw, &before) != nil || before.Lines == nil {
		before, raw = cursor{}, nil
	}
	next, seen := c.compareOutput(before, raw != nil, now)
	if raw != nil && len(seen) == 0 {
		return nil, raw, nil
	}
	encoded, err := json.Marshal(next)
	return seen, encoded, err
}

// programName returns the program name without arguments, which may be secret.
func (c *command) programName() string { return sensor.Line(filepath.Base(c.Command[0]), 80) }

// compareOutput reports the difference to the last report.
func (c *command) compareOutput(before cursor, known bool, now time.Time) (cursor, []ponder.Observation) {
	next, quiet := before, now.Sub(time.Unix(before.At, 0))
	lines := c.last.printableLines()
	hashes := hashLines(lines)
	o := ponder.Observation{Subject: sensor.Subject("command " + c.programName()), Untrusted: !c.Trusted}
	switch {
	case c.last.status != "":
		if c.last.status == before.Status {
			return before, nil
		}
		next.Turns++
		next.Status = c.last.status
		o.Content, o.State, o.Level = fmt.Sprintf("The command %s failed (%s). %s", c.programName(), c.last.status, c.last.errorLine()), fmt.Sprintf("failed %d", next.Turns), 6
	case before.Status != "":
		if quiet < recoveryTime {
			return before, nil
		}
		next.Status, next.Lines = "", hashes
		next.Turns++
		o.Content, o.State, o.Level = fmt.Sprintf("The command %s works again.", c.programName()), fmt.Sprintf("ok %d", next.Turns), 2
	case !known:
		return cursor{Lines: hashes}, nil
	case slices.Equal(hashes, before.Lines) || quiet < quietPause(before.Times):
		return before, nil
	default:
		next.Lines = hashes
		next.Times++
		if quiet > 12*time.Hour {
			next.Times = 1
		}
		o.Content, o.State = fmt.Sprintf("What %s prints changed: %s", c.programName(), describeChange(lines, before.Lines)), "changed "+sensor.Hash(strings.Join(hashes, " "))
	}
	if next.Lines == nil {
		next.Lines = []string{}
	}
	next.At = now.Unix()
	o.Content = sensor.Line(o.Content, sensor.MaxText)
	return next, []ponder.Observation{o}
}

// quietPause returns the quiet time after a number of changes.
func quietPause(times int) time.Duration {
	const often, first, last = 3, 10 * time.Minute, 6 * time.Hour
	if times < often {
		return 0
	}
	return min(first<<min(times-often, 10), last)
}

func hashLines(lines []string) []string {
	hashes := []string{}
	for _, line := range lines {
		hashes = append(hashes, sensor.Hash(line))
	}
	return hashes
}

// describeChange returns the first new lines.
func describeChange(lines, before []string) string {
	const maxShown, width = 4, 140
	var shown []string
	for _, line := range lines {
		if len(shown) < maxShown && !slices.Contains(before, sensor.Hash(line)) {
			shown = append(shown, sensor.Line(line, width))
		}
	}
	switch {
	case len(shown) > 0:
		return strings.Join(shown, " / ")
	case len(lines) == 0:
		return "it prints nothing any more."
	case len(lines) < len(before):
		return fmt.Sprintf("%d lines are gone.", len(before)-len(lines))
	}
	return "the same lines, in another order."
}
