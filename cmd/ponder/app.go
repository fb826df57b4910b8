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
	"ponder/internal/tui"
)

// A cli is the application with the streams, flags and terminal of a command.
type cli struct {
	*app.App

	in    io.Reader
	out   io.Writer // results
	log   *logSink  // progress and logs
	flags flags
	brake *brake
}

// newCLI returns a cli without streams, which tells the user what its App has to say.
func newCLI(o app.Options) *cli {
	a := &cli{}
	o.Loaded = func(cfg *config.Config) error { return a.logTo(cfg.LogLevel) }
	o.Note = func(text string) { a.note("%s", text) }
	o.Warn = a.warn
	o.HandOff = func(ctx context.Context, store ponder.Store, id ponder.ThreadID) error {
		_, err := a.leaveTo(ctx, store, id, "")
		return err
	}
	a.App = app.New(o)
	return a
}

// logTo sets up the log. Without a level there is none: commands say themselves
// what goes wrong.
func (a *cli) logTo(level string) error {
	if level == "" {
		slog.SetDefault(slog.New(slog.DiscardHandler))
		return nil
	}
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return usagef("--log-level: %q is none of debug, info, warn, error", clip(level, 20))
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: least})))
	return nil
}

// say tells a user something that is not a result.
func (a *cli) say(format string, args ...any) {
	fmt.Fprintf(a.log, "ponder: %s\n", fmt.Sprintf(format, args...))
}

// warn tells a user of an error that stops nothing.
func (a *cli) warn(err error) { a.say("warning: %s", a.line(err)) }

// note is say for what --quiet and --json leave out.
func (a *cli) note(format string, args ...any) {
	if !a.flags.quiet && !a.flags.json {
		a.say(format, args...)
	}
}

// notes is note of each text that is not empty.
func (a *cli) notes(list ...string) {
	for _, text := range list {
		if text != "" {
			a.note("%s", text)
		}
	}
}

// plain reports whether colours are not wanted.
func (a *cli) plain() bool { return a.flags.noColor || os.Getenv("NO_COLOR") != "" }

// A logSink is where lines go that are not results: standard error, or a view
// that is open on it.
type logSink struct {
	out io.Writer

	mu   sync.Mutex
	view *tui.View
}

// Write takes whole lines.
func (s *logSink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view == nil {
		return s.out.Write(b)
	}
	s.view.Print(tui.Item{At: -1, Kind: "note", Text: string(b), Tone: tui.Quiet})
	return len(b), nil
}

// through sends lines to a view, or to standard error again if it is nil.
func (s *logSink) through(v *tui.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view = v
}

// close gives the terminal back, if a view is open on it.
func (s *logSink) close() {
	s.mu.Lock()
	view := s.view
	s.mu.Unlock()
	if view != nil {
		view.Close()
	}
}

// command returns the command line that does something with a thread, in the
// database and with the configuration of this one.
func (a *cli) command(what string, id ponder.ThreadID) string {
	line := "ponder " + what + " " + string(id)
	for _, f := range [][2]string{{"--db", a.Options.DB}, {"--config", a.Options.Config}} {
		if f[1] != "" {
			line += " " + f[0] + " " + shellQuote(f[1])
		}
	}
	return line
}

// shellQuote returns a word as a shell takes it.
func shellQuote(word string) string {
	if word != "" && strings.IndexFunc(word, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@+,=", r))
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
