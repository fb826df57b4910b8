// Package command makes a tool of a command of the user's.
//
// No shell reads the command. A model has no say in what is run: it writes the texts that
// the user has declared, and each is one argument, or standard input. A text is one of
// few letters that a terminal and a program can bear, and as an argument it never begins
// with a dash, so that it is no option. The command is given 30 seconds and a small
// environment; what it leaves running is ended with it.
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

// Options say what is run. Name, Doc and Command are required.
type Options struct {
	Name    string        // of the tool
	Doc     string        // what it does, and when to use it
	Command []string      // the program and its arguments
	Args    []string      // names of the texts that a model writes; each is an argument behind those of Command
	Stdin   bool          // the last of Args is written to standard input instead
	Dir     string        // where it runs; the working folder if empty
	Env     []string      // names of variables that it is given, beside PATH, HOME and LANG
	Limit   time.Duration // of time; MostTime if zero, at most that

	// Before, if set, is asked before the command is run; an error of it is told to the
	// model, and nothing is run.
	Before func(context.Context) error
}

// Bounds.
const (
	MostTime   = 30 * time.Second
	MostOutput = 4 << 10 // bytes of what it prints
	MostArgs   = 4
	MostText   = 500  // bytes of an argument
	MostStdin  = 4000 // bytes of standard input
	MostReason = 300  // bytes of why it is used
)

// Reason is the name of what a model must write beside the texts: why it uses the tool.
const Reason = "reason"

// New returns the tool, or what is wrong with the options.
func New(o Options) (ponder.Tool, error) {
	switch {
	case len(o.Command) == 0 || o.Command[0] == "":
		return ponder.Tool{}, errors.New("command is missing: the program and its arguments")
	case strings.TrimSpace(o.Doc) == "":
		return ponder.Tool{}, errors.New("doc is missing: what it does, and when to use it")
	case len(o.Args) > MostArgs:
		return ponder.Tool{}, fmt.Errorf("args has %d names, and may have %d", len(o.Args), MostArgs)
	case o.Stdin && len(o.Args) == 0:
		return ponder.Tool{}, errors.New("stdin needs a name in args")
	}
	for i, name := range o.Args {
		if !isName(name) || name == Reason || slices.Contains(o.Args[:i], name) {
			return ponder.Tool{}, fmt.Errorf("args: %.40q is no name of its own: small letters, digits and _, at most 40, and not %s", name, Reason)
		}
	}
	if o.Limit <= 0 || o.Limit > MostTime {
		o.Limit = MostTime
	}
	return ponder.Tool{
		Tool: llm.Tool{Name: o.Name, Doc: strings.TrimSpace(o.Doc), Schema: o.schema()},
		Once: true, // what was done cannot be known after a crash
		Do:   o.do,
	}, nil
}

// isName reports whether a name can be that of a property.
func isName(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// schema returns that of the input.
func (o Options) schema() json.RawMessage {
	type property struct {
		Type string `json:"type"`
		Most int    `json:"maxLength"`
		Doc  string `json:"description"`
	}
	properties := map[string]property{Reason: {"string", MostReason, "Why it is right to do this now, in a sentence."}}
	for i, name := range o.Args {
		most := MostText
		if o.onInput(i) {
			most = MostStdin
		}
		properties[name] = property{"string", most, "Plain text."}
	}
	js, _ := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": append(slices.Clone(o.Args), Reason), "additionalProperties": false,
	})
	return js
}

// onInput reports whether the text with an index goes to standard input.
func (o Options) onInput(i int) bool { return o.Stdin && i == len(o.Args)-1 }

// texts returns what a model wrote, as the command is given it.
func (o Options) texts(input json.RawMessage) (args []string, stdin string, err error) {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return nil, "", errors.New("the input must be an object as the schema says")
	}
	for i, name := range o.Args {
		text, ok := in[name].(string)
		if !ok {
			return nil, "", fmt.Errorf("%s is missing: a text", name)
		}
		if o.onInput(i) {
			if stdin = clean(text, true); len(stdin) > MostStdin {
				return nil, "", fmt.Errorf("%s is too long: at most %d bytes", name, MostStdin)
			}
			continue
		}
		text = clean(text, false)
		switch {
		case text == "":
			return nil, "", fmt.Errorf("%s is empty", name)
		case len(text) > MostText:
			return nil, "", fmt.Errorf("%s is too long: at most %d bytes", name, MostText)
		case strings.HasPrefix(text, "-"):
			return nil, "", fmt.Errorf("%s must not begin with a dash", name)
		}
		args = append(args, text)
	}
	return args, stdin, nil
}

// clean returns the visible part of text, without tabs and, unless lines is set, on one line.
func clean(text string, lines bool) string {
	text = strings.ReplaceAll(textkit.Visible(text), "\t", " ")
	if !lines {
		text = strings.ReplaceAll(text, "\n", " ")
	}
	return strings.TrimSpace(text)
}

func (o Options) do(ctx context.Context, input json.RawMessage) (string, error) {
	args, stdin, err := o.texts(input)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.Name, err)
	}
	if o.Before != nil {
		if err := o.Before(ctx); err != nil {
			return "", err
		}
	}
	return o.run(ctx, args, stdin)
}

// run runs the command, and returns what it printed.
func (o Options) run(ctx context.Context, args []string, stdin string) (string, error) {
	out := limitio.Writer{Limit: MostOutput}
	err := process.Run(ctx, o.Limit, process.Spec{
		Command: append(slices.Clone(o.Command), args...), Dir: o.Dir, Env: o.Env, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out,
	})
	said := clean(out.String(), true)
	exit := (*exec.ExitError)(nil)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, process.ErrTimeout):
		return "", fmt.Errorf("%s was not done after %v, and was ended. %s", o.Name, o.Limit, said)
	case errors.As(err, &exit):
		return "", fmt.Errorf("%s failed (%s). %s", o.Name, exit.ProcessState, said)
	case err != nil:
		return "", fmt.Errorf("%s: %w", o.Name, err)
	case said == "":
		return "Done. It printed nothing.", nil
	}
	return said, nil
}
