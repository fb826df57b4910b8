// Package command makes a tool from a command that the user configures.
//
// No shell interprets the command. A model writes only the texts that the user declares:
// each becomes one argument, or standard input. The texts contain only visible characters,
// and an argument never starts with a dash, so that it is no option. The command has 30
// seconds and a small environment. Its child processes end with it.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/limitio"
	"ponder/internal/process"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Options configures the tool. Name, Doc and Command are required.
type Options struct {
	Name    string
	Doc     string        // the description for models
	Command []string      // the program and its arguments
	Args    []string      // names of the model's texts; each becomes an argument after those of Command
	Stdin   bool          // the last of Args becomes standard input instead
	Dir     string        // the working directory; empty: the current one
	Env     []string      // names of variables to pass, in addition to PATH, HOME and LANG
	Limit   time.Duration // time limit; zero means MaxTime, which is also the maximum

	// Before, if set, is called before the command. If it returns an error, the model gets
	// the error and the command does not run.
	Before func(context.Context) error
}

// Limits.
const (
	MaxTime   = 30 * time.Second
	MaxOutput = 4 << 10 // bytes of output
	MaxArgs   = 4
	MaxText   = 500  // bytes of an argument
	MaxStdin  = 4000 // bytes of standard input
	MaxReason = 300  // bytes of the reason
)

// Reason is the key of a required input: why the model uses the tool.
const Reason = "reason"

// New returns the tool, or an error that describes an invalid option.
func New(o Options) (ponder.Tool, error) {
	switch {
	case len(o.Command) == 0 || o.Command[0] == "":
		return ponder.Tool{}, errors.New("command is missing; set the program and its arguments")
	case strings.TrimSpace(o.Doc) == "":
		return ponder.Tool{}, errors.New("doc is missing; describe the tool, and when to use it")
	case len(o.Args) > MaxArgs:
		return ponder.Tool{}, fmt.Errorf("args has %d names; the limit is %d", len(o.Args), MaxArgs)
	case o.Stdin && len(o.Args) == 0:
		return ponder.Tool{}, errors.New("stdin needs a name in args")
	}
	for i, name := range o.Args {
		if !isName(name) || name == Reason || slices.Contains(o.Args[:i], name) {
			return ponder.Tool{}, fmt.Errorf("args: invalid or duplicate name %.40q; use at most 40 small letters, digits and _, and not %s", name, Reason)
		}
	}
	if o.Limit <= 0 || o.Limit > MaxTime {
		o.Limit = MaxTime
	}
	return ponder.Tool{
		Tool: llm.Tool{Name: o.Name, Doc: strings.TrimSpace(o.Doc), Schema: o.inputSchema()},
		Once: true, // a crash leaves the effect of the command unknown
		Do:   o.doCommand,
	}, nil
}

// isName reports whether a name is a valid key.
func isName(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// inputSchema returns the schema of the input.
func (o Options) inputSchema() json.RawMessage {
	type property struct {
		Type string `json:"type"`
		Most int    `json:"maxLength"`
		Doc  string `json:"description"`
	}
	properties := map[string]property{Reason: {"string", MaxReason, "Why it is right to do this now, in a sentence."}}
	for i, name := range o.Args {
		limit := MaxText
		if o.isStdin(i) {
			limit = MaxStdin
		}
		properties[name] = property{"string", limit, "Plain text."}
	}
	js, _ := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": append(slices.Clone(o.Args), Reason), "additionalProperties": false,
	})
	return js
}

// isStdin reports whether text i becomes standard input.
func (o Options) isStdin(i int) bool { return o.Stdin && i == len(o.Args)-1 }

// parseTexts returns the arguments and the standard input for an input.
func (o Options) parseTexts(input json.RawMessage) (args []string, stdin string, err error) {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return nil, "", errors.New("the input must be an object as the schema says")
	}
	for i, name := range o.Args {
		text, ok := in[name].(string)
		if !ok {
			return nil, "", fmt.Errorf("%s is missing: a text", name)
		}
		if o.isStdin(i) {
			if stdin = cleanText(text, true); len(stdin) > MaxStdin {
				return nil, "", fmt.Errorf("%s is too long: at most %d bytes", name, MaxStdin)
			}
			continue
		}
		text = cleanText(text, false)
		switch {
		case text == "":
			return nil, "", fmt.Errorf("%s is empty", name)
		case len(text) > MaxText:
			return nil, "", fmt.Errorf("%s is too long: at most %d bytes", name, MaxText)
		case strings.HasPrefix(text, "-"):
			return nil, "", fmt.Errorf("%s must not begin with a dash", name)
		}
		args = append(args, text)
	}
	return args, stdin, nil
}

// cleanText returns the visible part of a text. It replaces tabs and, unless lines is set, line
// breaks by spaces.
func cleanText(text string, lines bool) string {
	text = strings.ReplaceAll(textkit.Visible(text), "\t", " ")
	if !lines {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return strings.TrimSpace(text)
}

func (o Options) doCommand(ctx context.Context, input json.RawMessage) (string, error) {
	args, stdin, err := o.parseTexts(input)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.Name, err)
	}
	if o.Before != nil {
		if err := o.Before(ctx); err != nil {
			return "", err
		}
	}
	return o.runCommand(ctx, args, stdin)
}

// runCommand runs the command and returns its output.
func (o Options) runCommand(ctx context.Context, args []string, stdin string) (string, error) {
	out := limitio.Writer{Limit: MaxOutput}
	err := process.Run(ctx, o.Limit, process.Spec{
		Command: append(slices.Clone(o.Command), args...), Dir: o.Dir, Env: o.Env, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out,
	})
	output := cleanText(out.String(), true)
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, process.ErrTimeout):
		return "", fmt.Errorf("%s was not done after %v, and was ended. %s", o.Name, o.Limit, output)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s failed (%s). %s", o.Name, exit.ProcessState, output)
	case err != nil:
		return "", fmt.Errorf("%s: %w", o.Name, err)
	case output == "":
		return "Done. It printed nothing.", nil
	}
	return output, nil
}
