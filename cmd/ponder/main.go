// Ponder thinks about hard questions for as long as the user allows.
//
// This package is the program: flags, parsing, calls of internal/app and printing. main.go
// starts it, root.go lists the commands, and each group of commands has a file. app.go has
// the parts that all commands share, text.go prints, and failure.go turns an error into one
// line and an exit code. The files that begin with live show a session while it thinks.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"ponder/internal/app"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := &logSink{out: stderr}
	out := &results{out: stdout}
	a := newCLI(app.Options{Version: thisBuild().Version})
	a.in, a.out, a.log, a.brake = stdin, out, log, &brake{stop: cancel, last: log.close}
	defer a.Close()
	defer a.listen()()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil || err.Error() == "" { // else the error is already printed
		err = cmp.Or(out.lost(), err)
	}
	if err == nil {
		return done
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		err = failure{interrupted, errors.Unwrap(err)}
	}
	code, line := explain(err, a)
	if line != "" {
		fmt.Fprintln(stderr, "ponder: "+line)
	}
	return code
}

// listen connects signals to the brake until undo. It ignores SIGHUP if the parent does
// (nohup).
func (a *cli) listen() (undo func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGHUP {
				signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of the output may be gone too
				a.brake.hangUp()
				continue
			}
			a.brake.press()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

var errInterrupted = errors.New("interrupted")

// A brake handles Ctrl-C. The first press stops gracefully, if the command can; the second
// cancels; the third exits.
type brake struct {
	stop context.CancelCauseFunc
	last func() // runs before exit; may be nil

	mu      sync.Mutex
	rest    func()
	stopped bool
	hung    bool
}

// hangUp presses once, as the shell and the system may both signal the end of the terminal.
func (b *brake) hangUp() {
	b.mu.Lock()
	hung := b.hung
	b.hung = true
	b.mu.Unlock()
	if !hung {
		b.press()
	}
}

func (b *brake) isHung() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hung
}

// press is safe for concurrent use.
func (b *brake) press() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.rest != nil:
		b.rest()
		b.rest = nil
	case !b.stopped:
		b.stopped = true
		b.stop(errInterrupted)
	default:
		if b.last != nil {
			b.last()
		}
		os.Exit(interrupted)
	}
}

// toRest makes the next press call rest, which must not block.
func (b *brake) toRest(rest func()) (undo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = rest
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rest = nil
	}
}

func (a *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Example: "ponder version --json",
		GroupID: groupSetUp,
		Args:    takeNone,
		RunE: func(*cobra.Command, []string) error {
			v := thisBuild()
			if a.flags.json {
				return a.object(v)
			}
			a.printf("%s\n", v)
			return nil
		},
	}
}

type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Changed  bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

// version is set by the linker.
var version string

func thisBuild() build {
	b := build{Version: cmp.Or(version, "development"), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; version == "" && v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	s := "ponder " + b.Version
	if b.Revision != "" {
		s += " (" + b.Revision[:min(12, len(b.Revision))]
		if b.Changed {
			s += ", changed"
		}
		s += ")"
	}
	return s + ", " + b.Go + ", " + b.System
}
