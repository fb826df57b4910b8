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
	"ponder/internal/crash"
	"ponder/internal/fileio"
	"ponder/internal/placement"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

// An App has the configuration, database, models, libraries and MCP connections of one owner's
// use cases. Copies share them.
type App struct {
	Options Options

	Settings *config.Config // nil before Config

	sets        *modelSets
	servers     *MCPServers
	readings    *document.CheckCache // cache of checked documents
	pool        *LibraryPool         // of all owners; nil: each use opens its library
	library     LibraryProvider      // nil without pool
	payVectors  VectorPayer          // nil: vectors are free
	temporary   string               // folder of a database that ends with the process
	calibration *session.Calibration // the owner's; nil before Calibration
	owner       string
}

// Options locate the configuration and receive notices.
type Options struct {
	DB, Config, LogLevel string // non-empty values override the configuration
	Version              string

	HandOff func(context.Context, ponder.Store, ponder.ThreadID) error

	Loaded func(*config.Config) error // called with the loaded configuration; may be nil
	Note   func(string)               // receives progress; may be nil
	Warn   func(error)                // receives errors that do not stop the work; may be nil
}

// New returns an App for the local owner. The caller closes it.
func New(o Options) *App {
	return &App{Options: o, sets: &modelSets{}, servers: &MCPServers{}, readings: &document.CheckCache{}}
}

// Close ends the connections, and removes a temporary database.
func (a *App) Close() {
	a.servers.Close()
	if a.temporary != "" {
		os.RemoveAll(a.temporary)
	}
}

// inMemory is the name of a database that ends with the process.
const inMemory = ":memory:"

// IsTemporary reports whether the database ends with the process.
func (a *App) IsTemporary() bool { return a.temporary != "" }

// useTemporary replaces the database inMemory by a file in a temporary folder, in memory if the
// system has such a folder. Several connections need a file.
func (a *App) useTemporary(cfg *config.Config) error {
	if cfg.DB != inMemory {
		return nil
	}
	const shared = "/dev/shm" // of Linux
	dir, err := fileio.MakeTempDir(shared, "ponder-*")
	if err != nil {
		dir, err = fileio.MakeTempDir("", "ponder-*")
	}
	if err != nil {
		return fmt.Errorf("create a temporary database: %w", err)
	}
	a.temporary, cfg.DB = dir, filepath.Join(dir, "ponder.db")
	return nil
}

// LocalOwner owns all data of a database with one user.
const LocalOwner = "local"

func (a *App) Owner() string {
	if a.owner == "" {
		return LocalOwner
	}
	return a.owner
}

// As returns a view of a for another owner.
func (a *App) As(owner string) *App {
	view := *a
	view.owner, view.calibration = owner, nil
	if a.pool != nil {
		view.library = a.pool.Provider(owner)
	}
	return &view
}

func (a *App) Source() config.Source {
	dir, _ := os.Getwd()
	return config.Source{File: a.Options.Config, Dir: dir}
}

// Config loads the configuration once.
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
	if err := a.useTemporary(cfg); err != nil {
		return nil, err
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

func (a *App) Notef(format string, args ...any) {
	if a.Options.Note != nil {
		a.Options.Note(fmt.Sprintf(format, args...))
	}
}

func (a *App) Warn(err error) {
	if a.Options.Warn != nil {
		a.Options.Warn(err)
	}
}

// DBFile returns the path of the database if it is known.
func (a *App) DBFile() string {
	if a.Settings == nil {
		return a.Options.DB
	}
	return a.Settings.DB
}

type ModelHost struct {
	Name string
	llm.Provider
}

// Serve returns a view of a for a long-running server. It refreshes its models each minute,
// uses the models of host, and drops notices.
func (a *App) Serve(host ModelHost) *App {
	view := *a
	view.Options.Note = nil
	view.sets = &modelSets{lifetime: modelsLifetime, host: host}
	return &view
}

// ToolsVersion returns a number that changes with the tools of the MCP servers.
func (a *App) ToolsVersion() uint64 { return a.servers.Version() }

// Database returns the path of the database, which must be a file.
func (a *App) Database() (string, error) {
	cfg, err := a.Config()
	if err != nil {
		return "", err
	}
	if strings.Contains(cfg.DB, "://") {
		return "", Invalidf("db", "Ponder keeps its log in a SQLite file here: use a path instead of %q", textkit.Truncate(textkit.OneLine(cfg.DB[:strings.Index(cfg.DB, "://")+3]), 20))
	}
	return cfg.DB, nil
}

// OpenStore opens the database for writing, and creates it if missing. The caller closes it.
func (a *App) OpenStore(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.Database()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	if _, err := placement.MarkDeadNodes(ctx, store, placement.CurrentNode()); err != nil {
		slog.Warn("cannot take over from processes that have ended", "error", err)
	}
	return store, nil
}

// Crashes returns the crashes of processes that used the database.
func (a *App) Crashes() crash.Log {
	file, err := a.Database()
	if err != nil || a.IsTemporary() {
		return crash.Log{}
	}
	return crash.NewLog(file)
}

// guardWork returns a work function that refuses quarantined threads, and records crashes.
func (a *App) guardWork(work func(context.Context, ponder.ThreadID) error) func(context.Context, ponder.ThreadID) error {
	crashes := a.Crashes()
	if err := crashes.Start(); err != nil {
		slog.Warn("crashes of threads do not count", "error", err)
	}
	guarded := crashes.Guard(work)
	return func(ctx context.Context, thread ponder.ThreadID) error {
		err := guarded(ctx, thread)
		if errors.Is(err, ponder.ErrQuarantined) {
			return Errorf(Conflict, "", "%w", err)
		}
		return err
	}
}

// OpenReadOnly opens the database for reading, also where it cannot be written. It creates
// none: without a database it returns ErrNothingYet.
func (a *App) OpenReadOnly(ctx context.Context) (*sqlite.Store, error) {
	file, err := a.Database()
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return nil, ErrNothingYet
	}
	store, err := sqlite.OpenReadOnly(ctx, file)
	if err != nil { // an older version may need a migration
		var opened error
		if store, opened = sqlite.Open(ctx, file); opened != nil {
			return nil, err
		}
	}
	if anyNodeGone(ctx, store) {
		if writable, err := a.OpenStore(ctx); err == nil { // else show it unmigrated
			writable.Close()
		}
	}
	return store, nil
}

// anyNodeGone reports whether a process of this machine died while the store counts it as
// alive.
func anyNodeGone(ctx context.Context, nodes ponder.Nodes) bool {
	all, err := nodes.AllNodes(ctx)
	self := placement.CurrentNode()
	return err == nil && slices.ContainsFunc(all, func(n ponder.Node) bool { return placement.IsProcessGone(self, n) })
}

// Backup copies the database to a new file atomically and returns the size.
func (a *App) Backup(ctx context.Context, file string) (size int64, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return 0, Invalidf("", "%s already exists: use a new file name", file)
	}
	store, err := a.OpenReadOnly(ctx) // creates no database
	if err != nil {
		return 0, err
	}
	defer store.Close()
	dir, err := fileio.MakeTempDir(filepath.Dir(file), ".ponder-backup-")
	if err != nil {
		return size, fmt.Errorf("back up the database to %s: %w", file, err)
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "copy.db")
	if err := store.Copy(ctx, copied); err != nil {
		return size, fmt.Errorf("back up the database to %s: %w", file, err)
	}
	if err := fileio.MovePrivate(copied, file); err != nil {
		return size, fmt.Errorf("back up the database to %s: %w", file, err)
	}
	if info, err := os.Stat(file); err == nil {
		size = info.Size()
	}
	if err := store.Check(ctx); err != nil {
		return size, fmt.Errorf("compare the copy with the database: %w", err)
	}
	return size, nil
}
