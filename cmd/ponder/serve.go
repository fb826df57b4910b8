package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	sockets "net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/mcp"
	"ponder/internal/compat/responses"
	"ponder/internal/httpapi"
	"ponder/internal/metrics"
	"ponder/internal/placement"
	"ponder/internal/stream"
	"ponder/mode/session"
	"ponder/mode/title"
	"ponder/store/sqlite"
)

// serveFlags are what `ponder serve` is told.
type serveFlags struct {
	listen string
	print  bool
	noMind bool
}

func (a *cli) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer programs over HTTP, until Ctrl-C",
		Long: `Answer programs over HTTP, until Ctrl-C: sessions, research, conversations, memory and the
subconscious, as live streams too. Works on what other commands leave to it, on the same
database: what is begun with --detach, or was left by a process that was killed. /docs
shows all routes, /openapi.json describes them, /metrics has figures. What fails in it is
logged to standard error, unless --log-level says how much is.

It listens on this machine alone, unless a token is set: in PONDER_TOKEN, or for several
programs and owners in [serve.tokens.NAME] of the configuration. With one, every request
needs it: Authorization: Bearer TOKEN. With serve.mind, the subconscious ticks inside.

It ends with exit code 0 when it is told to stop; what was being thought is paused where
it stands, and goes on with the next serve.`,
		Example: `ponder serve
PONDER_TOKEN=... ponder serve --listen 0.0.0.0:8744 --log-level info
ponder serve --print-config`,
		GroupID: groupSetUp,
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.serve(cmd.Context(), f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "", "`address` to listen on (default 127.0.0.1:8744)")
	cmd.Flags().BoolVar(&f.print, "print-config", false, "print what is configured, without secrets, and end")
	cmd.Flags().BoolVar(&f.noMind, "no-mind", false, "do not keep the subconscious going, whatever serve.mind says")
	return cmd
}

// A server is what answers programs, and works on threads.
type server struct {
	*cli                          // of nobody in particular: see as
	life          context.Context //nolint:containedctx // of the process
	since         time.Time       // when it was begun
	store         *sqlite.Store
	meter         *metrics.Meter
	log           ponder.Store // that of store, and the meter sees what is appended
	hub           *stream.Hub
	hosts         *mcp.Hosts // the models of clients
	books         *books
	hooks         *responses.Hooks // that tell how responses have ended
	mind          *engine.Engine   // that others are made of
	place         *placement.Placement
	outfits       *wardrobe
	briefs        sync.Map // of threads that are being started, by their ids
	shelves       *app.LibraryPool
	minds         *minds
	casts         casts
	writings      session.Writings
	undercurrents undercurrents
	worths        worths
	searches      bool // the web can be searched
	purses        purses
}

func (a *cli) serve(ctx context.Context, f serveFlags) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	if cfg.LogLevel == "" { // callers are told that the log says what failed
		if err := a.logTo("error"); err != nil {
			return err
		}
	}
	if f.listen != "" {
		cfg.Serve.Listen = f.listen
	}
	guard, err := guarding(cfg)
	if err != nil {
		return err
	}
	if f.print {
		return a.printConfig(guard)
	}
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		// A small heap grows by 64 MiB between collections, a large one by about half. The
		// system backs no page of the slice, because no code touches it.
		debug.SetGCPercent(50)
		defer runtime.KeepAlive(make([]byte, 128<<20))
	}
	address := cfg.Serve.Address()
	if err := guard.CheckListen(address); err != nil {
		code := app.Invalid
		if errors.Is(err, auth.ErrOpen) {
			code = app.NotReady
		}
		return app.Errorf(code, "", "%w", err)
	}
	listener, err := a.listenOn(ctx, address)
	if err != nil {
		return err
	}
	defer listener.Close()
	store, err := a.OpenStore(ctx)
	if err != nil {
		return err
	}
	s, err := a.server(ctx, store, true)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = s.answer(ctx, listener, guard, f)
	s.close(ctx)
	return errors.Join(err, store.Close())
}

// listenOn begins to listen.
func (a *cli) listenOn(ctx context.Context, address string) (sockets.Listener, error) {
	l, err := new(sockets.ListenConfig).Listen(ctx, "tcp", address)
	if err == nil {
		return l, nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, usagef("--listen %s: %w", clip(oneLine(address), 60), reasonOf(err))
	}
	for _, s := range a.servings() {
		if strings.HasSuffix(s.Address, address[strings.LastIndexByte(address, ':'):]) {
			return nil, usagef("%s is taken: `ponder serve` (process %d) listens there already, for %s; choose another address with --listen", address, s.PID, s.Database)
		}
	}
	return nil, usagef("%s is taken by another program: choose another address with --listen", address)
}

// reasonOf returns the innermost of an error of the network.
func reasonOf(err error) error {
	var op *sockets.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// server returns one that works on threads: if it serves, on those that others leave to
// it, too. The caller closes it.
func (a *cli) server(ctx context.Context, store *sqlite.Store, serves bool) (s *server, err error) {
	mine, hosts := *a, &mcp.Hosts{}
	mine.flags.quiet, mine.App = true, a.Serve(app.ModelHost{Name: mcp.Host, Provider: hosts})
	s = &server{cli: &mine, life: context.WithoutCancel(ctx), store: store, hub: stream.New(store), hosts: hosts}
	if s.meter, err = s.newMeter(); err != nil {
		return nil, err
	}
	s.log = s.meter.Store(store)
	s.casts.list, s.undercurrents.list = make(map[ponder.ThreadID]*caster), make(map[string]*undercurrent)
	s.worths.list = make(map[string]reckoned)
	s.outfits = &wardrobe{make: s.dress, list: make(map[string]*worn)}
	s.shelves = s.ShareLibraries(store, s.payFor)
	s.minds = newMinds(s)
	n, err := s.Web(nil)
	if err != nil {
		return nil, err
	}
	n.Fetcher.Close()
	s.searches = n.Searcher != nil
	if s.books, err = openBooks(ctx, store.SQL()); err != nil {
		return nil, err
	}
	s.since = time.Now() // before anything is worked on
	return s, s.open(ctx, serves)
}

// open begins to work on threads.
func (s *server) open(ctx context.Context, serves bool) (err error) {
	node := placement.Self()
	if s.mind, err = engine.New(engine.Config{Store: s.log, Modes: []ponder.Mode{title.New()}, Node: node}); err != nil {
		return err
	}
	if err := s.mind.Open(ctx); err != nil {
		return fmt.Errorf("begin to think: %w", err)
	}
	c := placement.Config{Store: s.log, DB: s.store.DB(), Node: node, Work: s.workTold, Ended: s.mind.ReturnUnclaimed, Serve: serves}
	s.minds.placed = c
	if s.place, err = placement.Open(ctx, c); err != nil {
		return errors.Join(err, s.mind.Close(context.WithoutCancel(ctx)))
	}
	if !serves {
		return nil
	}
	go func() {
		if _, err := s.place.Recover(s.life); err != nil && ctx.Err() == nil {
			slog.Warn("what was left is looked for later", "error", err)
		}
	}()
	return nil
}

// close stops all work, so that others may take it at once.
func (s *server) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := s.place.Close(ctx)
	s.minds.close()
	s.worths.close()
	if err = errors.Join(err, s.mind.Close(ctx)); err != nil {
		slog.Warn("not all work has ended in order", "error", err)
		return // what is at work still uses the rest
	}
	s.outfits.close()
	s.shelves.Close()
	if err := s.meter.Close(ctx); err != nil {
		slog.Warn("traces are lost", "error", err)
	}
}

// newMeter returns what counts, and makes traces if the environment wants them.
func (s *server) newMeter() (*metrics.Meter, error) {
	version := thisBuild().Version
	traces, err := metrics.TracesFromEnv(version)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return metrics.New(metrics.Config{Version: version, Queue: s.waiting, Watchers: s.hub.Watchers, Lag: s.hub.Lag, Traces: traces}), nil
}

// waiting returns how many threads wait to be worked on, if the database says so in time.
func (s *server) waiting() (n int, known bool) {
	ctx, cancel := context.WithTimeout(s.life, readyTime)
	defer cancel()
	n, err := s.place.Waiting(ctx)
	return n, err == nil
}

// Times of the server.
const (
	headerTime = 10 * time.Second // for the head of a request
	idleTime   = 2 * time.Minute  // of a connection between two requests
	drainTime  = 3 * time.Second  // for requests that are being answered, when it stops
	maxHeader  = 64 << 10
	tidyEvery  = time.Minute
)

// answer answers requests until it is told to stop.
func (s *server) answer(ctx context.Context, l sockets.Listener, guard auth.Config, f serveFlags) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	at := "http://" + l.Addr().String()
	id := ponder.NewID("srv")
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler: named(id, s.handler(serving, guard)), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		Protocols: protocols, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelInfo),
	}
	undo, err := s.announce(id, at)
	if err != nil {
		s.say("warning: other commands do not find this server: %v", err)
	} else {
		defer undo()
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	lost := make(chan error, 1)
	work.Go(func() { lost <- watchLost(serving, s.store.Lost, fileEvery) })
	work.Go(func() { s.tidying(serving) })
	work.Go(func() {
		if err := s.hooks.Run(serving); err != nil && serving.Err() == nil {
			slog.Error("webhooks are not delivered", "error", err)
		}
	})
	if s.Settings.Serve.Mind != nil && *s.Settings.Serve.Mind && !f.noMind {
		work.Go(func() { s.minds.keepAll(serving, mindOwners(guard)) })
	}
	rest := make(chan struct{})
	defer s.brake.toRest(func() { close(rest) })()
	defer unread()()
	if err := s.greet(at, len(guard.Tokens) > 0); err != nil {
		return err
	}
	defer s.managed(serving, at)()
	var failed error
	select {
	case err := <-ended:
		return fmt.Errorf("answer at %s: %w", at, err)
	case failed = <-lost:
	case <-rest:
	case <-ctx.Done():
	}
	stop() // streams end, and nothing new is taken
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		srv.Close()
	}
	return failed
}

// greet says where the server is, and how to ask it.
func (s *server) greet(at string, token bool) error {
	if s.cli.flags.json {
		return s.object(map[string]any{"address": at, "pid": os.Getpid(), "database": s.databasePath()})
	}
	needs := ""
	if token {
		needs = `-H "Authorization: Bearer $PONDER_TOKEN" `
	}
	s.printf("serving at %s: curl %s%s/api/thinking/ lists sessions, %s/docs says more; Ctrl-C stops it\n", at, needs, at, at)
	return nil
}

// handler returns what answers requests.
func (s *server) handler(ctx context.Context, guard auth.Config) http.Handler {
	more, refuse := mounted(s.languages(ctx))
	maps.Copy(more, s.more())
	return s.meter.Handler(httpapi.New(ctx, httpapi.Config{
		Store: s.log, Hub: s.hub, Guard: auth.New(guard), Service: s, Version: thisBuild().Version, Logger: slog.Default(),
		Ready: s.ready, Calibration: s.calibrated, Afford: s.costsMore, Requests: s.books, Seen: s.meter.Request, More: more, Refuse: refuse,
	}))
}

// tidying does now and then what keeps the server small.
func (s *server) tidying(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.outfits.rest()
			s.forgetExchanges(ctx, time.Now())
			now := time.Now()
			if err := errors.Join(s.books.tidyAll(ctx, now), s.tidyThreads(ctx, now.Add(-bookedTime))); err != nil && ctx.Err() == nil {
				slog.Warn("what is old is kept for now", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}
