// Ponder thinks about hard questions for as long as it is given.
//
// This package is the program: flags, parsing, calls of internal/app and printing. main.go
// starts it, root.go lists the commands, and each group of commands has a file. app.go has
// what all commands share, text.go prints, and failure.go turns an error into one line and an
// exit code. The files that begin with live show a session while it thinks.
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

// run is the program. It returns the exit code.
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
	if err == nil || err.Error() == "" { // else it says already what is wrong
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

// listen lets signals of the system press the brake, until it is undone: that the terminal
// has gone away too, unless whoever started the program does not want that (nohup).
func (a *cli) listen() (undo func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGHUP {
				signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // who reads what is printed may go too
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

// errInterrupted is why the context of a command ends when a user wants it to.
var errInterrupted = errors.New("interrupted")

// A brake is what Ctrl-C presses. The first time, it asks the command to come to
// rest, if the command knows how; the next, it stops it; and a third ends the
// process, whatever it does.
type brake struct {
	stop context.CancelCauseFunc
	last func() // before the process ends; may be nil

	mu      sync.Mutex
	rest    func()
	stopped bool
	hung    bool
}

// hangUp is what the end of the terminal presses: once, though a shell and the system may
// both tell of it.
func (b *brake) hangUp() {
	b.mu.Lock()
	hung := b.hung
	b.hung = true
	b.mu.Unlock()
	if !hung {
		b.press()
	}
}

// isHung reports whether the terminal has gone away.
func (b *brake) isHung() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hung
}

// press may be called from any goroutine.
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

// toRest makes the next press call rest, which must return at once.
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
	Changed  bool   `json:"modified,omitempty"` // since that revision
	Go       string `json:"go"`
	System   string `json:"system"`
}

// version is what the build calls itself; the linker sets it.
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
