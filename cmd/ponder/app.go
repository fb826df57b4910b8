package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/process"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// A cli adds the streams, flags and terminal of a command to an application.
type cli struct {
	*app.App

	in         io.Reader
	out        io.Writer
	log        *logSink
	flags      flags
	interrupts *interruptHandler
}

func newCLI(o app.Options) *cli {
	a := &cli{}
	o.Loaded = func(cfg *config.Config) error { return a.setLogLevel(cfg.LogLevel) }
	o.Note = func(text string) { a.printNote("%s", text) }
	o.Warn = a.printWarning
	o.HandOff = func(ctx context.Context, store ponder.Store, id ponder.ThreadID) error {
		_, err := a.handOff(ctx, store, id, "")
		return err
	}
	a.App = app.New(o)
	return a
}

// setLogLevel sets up the log. Without a level it discards the log, since commands report their
// errors.
func (a *cli) setLogLevel(level string) error {
	if level == "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		return nil
	}
	var minLevel slog.Level
	if err := minLevel.UnmarshalText([]byte(level)); err != nil {
		return usagef("--log-level: %q is none of debug, info, warn, error", truncate(level, 20))
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: minLevel})))
	limit, from := process.MemoryLimit()
	slog.Debug("memory limit of the Go runtime", "bytes", limit, "from", from)
	return nil
}

func (a *cli) printMessage(format string, args ...any) {
	fmt.Fprintf(a.log, "ponder: %s\n", textkit.Clean(fmt.Sprintf(format, args...)))
}

func (a *cli) printWarning(err error) { a.printMessage("warning: %s", a.errorLine(err)) }

// printNote is [cli.printMessage], silenced by --quiet and --json.
func (a *cli) printNote(format string, args ...any) {
	if !a.flags.quiet && !a.flags.json {
		a.printMessage(format, args...)
	}
}

func (a *cli) printNotes(list ...string) {
	for _, text := range list {
		if text != "" {
			a.printNote("%s", text)
		}
	}
}

func (a *cli) isPlainOutput() bool { return a.flags.noColor || os.Getenv("NO_COLOR") != "" }

// A logSink takes lines that are not results and writes them to standard error or an open view.
type logSink struct {
	out io.Writer

	mu   sync.Mutex
	view *tui.View
}

func (s *logSink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return s.out.Write(b)
	}
	s.view.Print(tui.Item{At: -1, Kind: "note", Text: string(b), Tone: tui.Quiet})
	return len(b), nil
}

// redirectTo redirects lines to a view, or back to standard error if v is nil.
func (s *logSink) redirectTo(v *tui.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
}

func (s *logSink) closeView() {
	s.mu.Lock()
	view := s.view
	s.mu.Unlock()
	if view != nil {
		view.Close()
	}
}

func (a *cli) formatCommand(what string, id ponder.ThreadID) string {
	line := "ponder " + what + " " + string(id)
	for _, f := range [][2]string{{"--db", a.Options.DB}, {"--config", a.Options.Config}} {
		if f[1] != "" {
			line += " " + f[0] + " " + shellQuote(f[1])
		}
	}
	return line
}

func shellQuote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@+,=", r))
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
