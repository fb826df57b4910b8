package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/placement"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// An App is what all use cases share: the configuration, the database, models, libraries
// and connections to MCP servers, for one owner. Its copies share all but the owner.
type App struct {
	Options Options

	Settings *config.Config // nil before Config

	sets        *modelSets
	servers     *MCPServers
	readings    *document.Readings   // of documents that were checked
	pool        *LibraryPool         // of all owners; nil: each use opens a library of its own
	library     LibraryProvider      // of the owner, from pool; nil without pool
	payVectors  VectorPayer          // nil: vectors are free
	calibration *session.Calibration // of the owner; nil before Calibration
	owner       string
}

// Options say where an App finds its configuration and whom it tells what.
type Options struct {
	DB, Config, LogLevel string // override the configuration unless empty
	Version              string // of the program, as servers see it

	// HandOff has another process work on a thread that this one has made.
	HandOff func(context.Context, ponder.Store, ponder.ThreadID) error

	Loaded func(*config.Config) error // is called once the configuration is read; nil: nothing
	Note   func(string)               // takes remarks on progress; nil: they are dropped
	Warn   func(error)                // takes errors that stop no work; nil: they are dropped
}

// New returns an App for the local owner. The caller closes it.
func New(o Options) *App {
	return &App{Options: o, sets: &modelSets{}, servers: &MCPServers{}, readings: &document.Readings{}}
}

// Close ends the connections to MCP servers.
func (a *App) Close() { a.servers.Close() }

// LocalOwner owns all data as long as one user has the database.
const LocalOwner = "local"

// Owner returns the owner for whom a acts.
func (a *App) Owner() string {
	if a.owner == "" {
		return LocalOwner
	}
	return a.owner
}

// As returns a view of a for an owner.
func (a *App) As(owner string) *App {
	view := *a
	view.owner, view.calibration = owner, nil
	if a.pool != nil {
		view.library = a.pool.Provider(owner)
	}
	return &view
}

// Source returns where the configuration is.
func (a *App) Source() config.Source {
	dir, _ := os.Getwd() // without a folder, there is no ponder.toml in it
	return config.Source{File: a.Options.Config, Dir: dir}
}

// Config reads the configuration, once.
func (a *App) Config() (*config.Config, error) {
	if a.Settings != nil {
		return a.Settings, nil
	}
	cfg, err := config.Load(a.Source())
	if err != nil {
		return nil, Invalidf("", "%w", err)
	}
	if a.Options.DB != "" {
		cfg.DB = a.Options.DB
	}
	if a.Options.LogLevel != "" {
		cfg.LogLevel = a.Options.LogLevel
	}
	if a.Options.Loaded != nil {
		if err := a.Options.Loaded(cfg); err != nil {
			return nil, err
		}
	}
	for _, w := range cfg.Warnings {
		a.Warn(errors.New(w))
	}
	a.Settings = cfg
	return cfg, nil
}

// Notef tells the user how work proceeds.
func (a *App) Notef(format string, args ...any) {
	if a.Options.Note != nil {
		a.Options.Note(fmt.Sprintf(format, args...))
	}
}

// Warn tells the user of an error that stops no work.
func (a *App) Warn(err error) {
	if a.Options.Warn != nil {
		a.Options.Warn(err)
	}
}

// DBFile returns the path of the database as far as it is known.
func (a *App) DBFile() string {
	if a.Settings == nil {
		return a.Options.DB
	}
	return a.Settings.DB
}

// ModelHost is the provider of the models of connected clients.
type ModelHost struct {
	Name string
	llm.Provider
}

// Serve returns a view of a for a server, which outlives changes of its surroundings: it
// looks for models again after a minute, uses the models of host, and drops remarks.
func (a *App) Serve(host ModelHost) *App {
	view := *a
	view.Options.Note = nil
	view.sets = &modelSets{lifetime: modelsLifetime, host: host}
	return &view
}

// ToolsVersion returns a number that changes when MCP servers have other tools.
func (a *App) ToolsVersion() uint64 { return a.servers.Version() }

// Database returns the path of the database, which must be a file.
func (a *App) Database() (string, error) {
	cfg, err := a.Config()
	if err != nil {
		return "", err
	}
	if strings.Contains(cfg.DB, "://") {
		return "", Invalidf("db", "Ponder keeps its log in a SQLite file here: give a path, not %q", textkit.Truncate(textkit.OneLine(cfg.DB[:strings.Index(cfg.DB, "://")+3]), 20))
	}
	return cfg.DB, nil
}

// OpenStore opens the database to write to it. The caller closes it.
func (a *App) OpenStore(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.Database()
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

// OpenReadOnly opens the database to look something up, even where it cannot be
// written. It makes none: if there is none, its error is ErrNothingYet.
func (a *App) OpenReadOnly(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.Database()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil, ErrNothingYet
	}
	store, err := sqlite.OpenReadOnly(ctx, file)
	if err != nil { // perhaps it is of an older version, and can be migrated
		var opened error
		if store, opened = sqlite.Open(ctx, file); opened != nil {
			return nil, err
		}
	}
	if anyNodeGone(ctx, store) {
		if writable, err := a.OpenStore(ctx); err == nil { // else it is shown as it was
			writable.Close()
		}
	}
	return store, nil
}

// anyNodeGone reports whether a process of this machine has ended without a word, so
// that the store still takes it to be alive.
func anyNodeGone(ctx context.Context, nodes ponder.Nodes) bool {
	all, err := nodes.AllNodes(ctx)
	self := placement.Self()
	return err == nil && slices.ContainsFunc(all, func(n ponder.Node) bool { return placement.Gone(self, n) })
}

// Backup copies the database to a new file, and returns the size of the file. It writes
// beside the file and renames, so that a copy with that name is whole.
func (a *App) Backup(ctx context.Context, file string) (size int64, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return 0, Invalidf("", "%s is there already: name a new file", file)
	}
	store, err := a.OpenReadOnly(ctx) // makes no database
	if err != nil {
		return 0, err
	}
	defer store.Close()
	dir, err := os.MkdirTemp(filepath.Dir(file), ".ponder-backup-")
	if err != nil {
		return size, fmt.Errorf("back up to %s: %w", file, err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy.db")
	if err := store.Copy(ctx, copied); err != nil {
		return size, fmt.Errorf("back up to %s: %w", file, err)
	}
	if err := os.Rename(copied, file); err != nil {
		return size, fmt.Errorf("back up to %s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil {
		size = info.Size()
	}
	if err := store.Check(ctx); err != nil {
		return size, fmt.Errorf("the copy is like the database: %w", err)
	}
	return size, nil
}
