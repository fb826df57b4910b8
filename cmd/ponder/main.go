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
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"ponder/internal/app"
	"ponder/internal/crash"
	"ponder/internal/fileio"
	"ponder/internal/licenses"
	"ponder/internal/netaddr"
	"ponder/internal/process"
)

func main() {
	process.LimitMemory()
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.Proxy = netaddr.Proxy
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	code := runCommand(ctx, args, stdin, stdout, stderr)
	crash.Stop() // not deferred, because a panic is no orderly end
	return code
}

func runCommand(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	log := &logSink{out: stderr}
	out := &outputWriter{out: stdout}
	a := newCLI(app.Options{Version: readBuildVersion().Version})
	a.in, a.out, a.log, a.interrupts = stdin, out, log, &interruptHandler{cancel: cancel, beforeExit: log.closeView}
	defer a.Close()
	defer a.handleSignals()()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil || err.Error() == "" { // else the error is already printed
		err = cmp.Or(out.writeError(), err)
	}
	if err == nil {
		return exitDone
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		err = failure{exitInterrupted, errors.Unwrap(err)}
	}
	code, line := explainError(err, a)
	if line != "" {
		fmt.Fprintln(stderr, "ponder: "+line)
	}
	return code
}

// handleSignals connects signals to the interrupt handler until undo. It ignores SIGHUP if the parent does
// (nohup).
func (a *cli) handleSignals() (undo func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGHUP {
				signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the reader of the output may be gone too
				a.interrupts.hangUp()
				continue
			}
			a.interrupts.handlePress()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

var errInterrupted = errors.New("interrupted")

// An interruptHandler handles Ctrl-C. The first press stops gracefully, if the command can; the second
// cancels; the third exits.
type interruptHandler struct {
	cancel     context.CancelCauseFunc
	beforeExit func() // runs before exit; may be nil

	mu       sync.Mutex
	graceful func()
	stopped  bool
	hungUp   bool
}

// hangUp presses once, as the shell and the system may both signal the end of the terminal.
func (b *interruptHandler) hangUp() {
	b.mu.Lock()
	hung := b.hungUp
	b.hungUp = true
	b.mu.Unlock()
	if !hung {
		b.handlePress()
	}
}

func (b *interruptHandler) hasHungUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hungUp
}

// handlePress is safe for concurrent use.
func (b *interruptHandler) handlePress() {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.graceful != nil:
		b.graceful()
		b.graceful = nil
	case !b.stopped:
		b.stopped = true
		b.cancel(errInterrupted)
	default:
		if b.beforeExit != nil {
			b.beforeExit()
		}
		os.Exit(exitInterrupted)
	}
}

// setGraceful makes the next press call rest, which must not block.
func (b *interruptHandler) setGraceful(rest func()) (undo func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.graceful = rest
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.graceful = nil
	}
}

func (a *cli) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "ponder version --json",
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readBuildVersion()
			if a.flags.json {
				return a.printJSON(v)
			}
			a.printf("%s\n", v)
			return nil
		},
	}
}

func (a *cli) licensesCommand() *cobra.Command {
	program := ""
	cmd := &cobra.Command{
		Use:   "licenses [NAME]",
		Short: "Print the licenses of Ponder and its components",
		Long: `Print the licenses of Ponder and of all components in the program, or of those whose name
contains NAME. With --sbom, print the components of a program that was built from Ponder as a bill
of materials in CycloneDX, with versions, licenses and hashes.`,
		Example: "ponder licenses | less\nponder licenses sqlite\nponder licenses --json\nponder licenses --sbom bin/ponder",
		GroupID: groupSetUp,
		Args:    requireArgs(0, 1, "a part of a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if program != "" {
				return a.printBill(program)
			}
			return a.printLicenses(strings.Join(args, ""))
		},
	}
	cmd.Flags().StringVar(&program, "sbom", "", "print the bill of materials of this `program`")
	return cmd
}

func (a *cli) printBill(program string) error {
	f, err := fileio.OpenRegular(program)
	if err != nil {
		return usagef("--sbom: %w", err)
	}
	defer f.Close()
	text, err := licenses.ReadProgram(f, cmp.Or(version, "development"))
	if err != nil {
		return usagef("--sbom: %w", err)
	}
	return a.writeResult("", append(text, '\n'))
}

func (a *cli) printLicenses(name string) error {
	sections, err := licenses.Sections()
	if err != nil {
		return err
	}
	isOther := func(c licenses.Component) bool {
		return !strings.Contains(strings.ToLower(c.Name), strings.ToLower(name))
	}
	for i := range sections {
		sections[i].Components = slices.DeleteFunc(sections[i].Components, isOther)
	}
	sections = slices.DeleteFunc(sections, func(s licenses.Section) bool { return len(s.Components) == 0 })
	if len(sections) == 0 {
		return usagef("no component is named %q: run `ponder licenses` for all", truncate(name, 40))
	}
	if a.flags.json {
		for _, c := range licenses.Components(sections) {
			if err := a.printJSON(c); err != nil {
				return err
			}
		}
		return nil
	}
	for i, s := range sections {
		if i > 0 {
			a.printf("\n%s\n\n", strings.Repeat("-", maxLineWidth))
		}
		for _, c := range s.Components {
			a.printf("%s: %s\n", strings.TrimSpace(c.Name+" "+c.Version), strings.Join(c.Licenses, ", "))
		}
		a.printf("\n%s", s.Text)
	}
	return nil
}

type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Changed  bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

// version is set by the linker.
var version string

func readBuildVersion() buildVersion {
	b := buildVersion{Version: cmp.Or(version, "development"), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
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

func (b buildVersion) String() string {
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
