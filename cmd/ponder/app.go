package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/placement"
	"ponder/internal/tui"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// A cli is what commands share: streams, flags, and what is read and opened
// when a command wants it.
type cli struct {
	in    io.Reader
	out   io.Writer // results
	log   *logSink  // progress and logs
	flags flags
	brake *brake

	cfg     *config.Config       // see config
	lineups *lineups             // see lineup
	known   *session.Calibration // see calibration

	servers *mcpServers // see outside

	user string    // owner of what is thought and remembered; see who
	lent lender    // of libraries, if they are shared
	pays paymaster // for vectors of what is remembered, if that has to be paid for
}

// owner owns what is thought and remembered, as long as one user has the database.
const owner = "local"

// who returns the owner of what the command deals with.
func (a *cli) who() string { return cmp.Or(a.user, owner) }

// source says where the configuration is.
func (a *cli) source() config.Source {
	dir, _ := os.Getwd() // without a folder, there is no ponder.toml in it
	return config.Source{File: a.flags.config, Dir: dir}
}

// config reads the configuration once.
func (a *cli) config() (*config.Config, error) {
	if a.cfg != nil {
		return a.cfg, nil
	}
	cfg, err := config.Load(a.source())
	if err != nil {
		return nil, failure{wrongUsage, err}
	}
	if a.flags.db != "" {
		cfg.DB = a.flags.db
	}
	if a.flags.logLevel != "" {
		cfg.LogLevel = a.flags.logLevel
	}
	if err := a.logTo(cfg.LogLevel); err != nil {
		return nil, err
	}
	for _, w := range cfg.Warnings {
		a.say("warning: %s", w)
	}
	a.cfg = cfg
	return cfg, nil
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

// dbFile returns the database of the command, as far as it is known.
func (a *cli) dbFile() string {
	if a.cfg == nil {
		return a.flags.db
	}
	return a.cfg.DB
}

// database returns the path of the database, which must be a file.
func (a *cli) database() (string, error) {
	cfg, err := a.config()
	if err != nil {
		return "", err
	}
	if strings.Contains(cfg.DB, "://") {
		return "", usagef("--db: Ponder keeps its log in a SQLite file here: give a path, not %q", clip(oneLine(cfg.DB[:strings.Index(cfg.DB, "://")+3]), 20))
	}
	return cfg.DB, nil
}

// store opens the database to write to it. The caller closes it.
func (a *cli) store(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.database()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, err := placement.Bury(ctx, store, placement.Self()); err != nil {
		slog.Warn("cannot take over from processes that have ended", "error", err)
	}
	return store, nil
}

// errNothingYet is the error of a database that is not there yet.
var errNothingYet = errors.New("nothing has been thought yet: begin with `ponder think QUESTION`")

// lookup opens the database to look something up, even where it cannot be
// written. It makes none: if there is none, its error is errNothingYet.
func (a *cli) lookup(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.database()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, failure{wrongUsage, errNothingYet}
	}
	store, err := sqlite.OpenReadOnly(ctx, file)
	if err != nil { // perhaps it is of an older version, and can be migrated
		var opened error
		if store, opened = sqlite.Open(ctx, file); opened != nil {
			return nil, err
		}
	}
	if anyGone(ctx, store) {
		if writable, err := a.store(ctx); err == nil { // else it is shown as it was
			writable.Close()
		}
	}
	return store, nil
}

// anyGone reports whether a process of this machine has ended without a word, so
// that the store still takes it to be alive.
func anyGone(ctx context.Context, nodes ponder.Nodes) bool {
	all, err := nodes.AllNodes(ctx)
	self := placement.Self()
	return err == nil && slices.ContainsFunc(all, func(n ponder.Node) bool { return placement.Gone(self, n) })
}

// find returns the thread that a user means: an id or the beginning of one,
// with or without thr_, or "last" for the newest. A kind, if given, must fit; what
// goes for sessions goes for research too.
func (a *cli) find(ctx context.Context, threads ponder.Threads, name string, kind ponder.Kind) (ponder.Info, error) {
	name = strings.TrimSpace(name)
	list, err, listed := []ponder.Info(nil), error(nil), kind
	if strings.EqualFold(name, "last") {
		list, err = newest(ctx, threads, ponder.Filter{Kind: kind, Limit: 1})
		kind = "" // it fits
	} else {
		list, err = called(ctx, threads, name)
	}
	switch ours := prefixOf(name); {
	case err != nil:
		return ponder.Info{}, fmt.Errorf("find %s: %w", name, err)
	case len(list) == 0 && strings.EqualFold(name, "last") && listed == ponder.KindResearch:
		return ponder.Info{}, usagef("nothing has been researched yet: begin with `ponder research QUESTION`")
	case len(list) == 0 && strings.EqualFold(name, "last"):
		return ponder.Info{}, failure{wrongUsage, errNothingYet}
	case len(list) == 0 && ours == "":
		return ponder.Info{}, usagef("%q is no id: `ponder %s list` shows them", clip(oneLine(name), 40), listOf(kind))
	case len(list) == 0:
		return ponder.Info{}, usagef("there is no %s: `ponder %s list` shows what there is", ours, listOf(kind))
	case len(list) > 1:
		return ponder.Info{}, usagef("%s is the beginning of several ids: write more of it", name)
	case kind != "" && !slices.Contains(kindsLike(kind), list[0].Kind):
		return ponder.Info{}, usagef("%s is a %s, not a %s: see `ponder thread show %s`", list[0].ID, list[0].Kind, kind, list[0].ID)
	}
	return list[0], nil
}

// called lists the thread with an id, or else some of those whose ids begin like that:
// as it is written, for ids that were imported have other forms, or as ours are.
func called(ctx context.Context, threads ponder.Threads, name string) ([]ponder.Info, error) {
	ours, foreign := prefixOf(name), name
	for _, id := range []string{foreign, ours} {
		if info, err := threads.Thread(ctx, ponder.ThreadID(id)); err == nil {
			return []ponder.Info{info}, nil
		} else if !errors.Is(err, ponder.ErrNoThread) {
			return nil, err
		}
	}
	if len(strings.TrimPrefix(foreign, "thr_")) < leastForeign {
		foreign = ""
	}
	for _, prefix := range []string{ours, foreign} {
		if prefix == "" {
			continue
		}
		if list, err := threads.List(ctx, ponder.Filter{Prefix: prefix, Limit: 2}); err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}

// kindsLike returns the kinds that commands for a kind take.
func kindsLike(kind ponder.Kind) []ponder.Kind {
	if kind == ponder.KindSession {
		return []ponder.Kind{ponder.KindSession, ponder.KindResearch}
	}
	return []ponder.Kind{kind}
}

// newest lists the threads of a filter, of all kinds that are like its kind, the newest
// first.
func newest(ctx context.Context, threads ponder.Threads, filter ponder.Filter) (list []ponder.Info, err error) {
	for _, filter.Kind = range kindsLike(filter.Kind) {
		more, err := threads.List(ctx, filter)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(a, b ponder.Info) int { return b.Created.Compare(a.Created) })
	if filter.Limit > 0 {
		list = list[:min(len(list), filter.Limit)]
	}
	return list, nil
}

// leastForeign is how much a user writes at least of an id that is not of our form, if
// not all of it.
const leastForeign = 4

func listOf(kind ponder.Kind) string {
	if kind == ponder.KindSession {
		return "session"
	}
	return "thread"
}

// prefixOf returns the beginning of an id as it is stored, or "" if no id begins
// like that.
func prefixOf(name string) string {
	const mostLetters = 36 // of an id of a thread beside a conversation: see package httpapi
	name = strings.ToUpper(strings.TrimSpace(name))
	name = strings.TrimPrefix(name, "THR_")
	if name == "" || len(name) > mostLetters || strings.Trim(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
		return ""
	}
	return "thr_" + name
}

// say tells a user something that is not a result.
func (a *cli) say(format string, args ...any) {
	fmt.Fprintf(a.log, "ponder: %s\n", fmt.Sprintf(format, args...))
}

// note is say for what --quiet and --json leave out.
func (a *cli) note(format string, args ...any) {
	if !a.flags.quiet && !a.flags.json {
		a.say(format, args...)
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
	for _, f := range [][2]string{{"--db", a.flags.db}, {"--config", a.flags.config}} {
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
