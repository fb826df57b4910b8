// Package server serves the native API and client protocols over HTTP, based on the use cases of
// package app. It also finds servers of this machine.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	sockets "net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/a2a"
	"ponder/internal/compat/mcp"
	"ponder/internal/compat/responses"
	"ponder/internal/credential"
	"ponder/internal/httpapi"
	"ponder/internal/limitio"
	"ponder/internal/pdf"
	"ponder/internal/placement"
	"ponder/internal/process"
	"ponder/internal/textkit"
)

// Limits of the server.
const (
	headerTime = 10 * time.Second // to read a request header
	idleTime   = 2 * time.Minute  // of an idle connection
	drainTime  = 3 * time.Second  // for open requests at shutdown
	maxHeader  = 64 << 10
)

// ServeListener serves requests until ctx ends, the user interrupts it, or the database is lost.
func (s *Server) ServeListener(ctx context.Context, l sockets.Listener, guard auth.Config) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	at := "http://" + l.Addr().String()
	if len(guard.Tokens) == 0 {
		guard.Local = rand.Text() + rand.Text()
	}
	handler, err := s.newHandler(serving, guard)
	if err != nil {
		return err
	}
	id := ponder.NewID("srv")
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{
		Handler: withServerID(id, handler), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		Protocols: protocols, ConnContext: auth.WithPeer, ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelInfo),
	}
	undo, err := writeServerFile(s.App, id, at, guard.Local)
	if err != nil {
		s.Warn(fmt.Errorf("publish the address of this server: %w", err))
	} else {
		defer undo()
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	lost := make(chan error, 1)
	work.Go(func() { lost <- watchLost(serving, s.Store.Lost, fileEvery) })
	work.Go(func() { s.RunCleanup(serving) })
	work.Go(func() { s.RunTimers(serving) })
	work.Go(func() { s.cleanUpCredentials(serving) })
	work.Go(func() {
		if err := s.hooks.Run(serving); err != nil && serving.Err() == nil {
			slog.Error("cannot deliver webhooks", "error", err)
		}
	})
	work.Go(func() {
		if err := s.agents.Run(serving); err != nil && serving.Err() == nil {
			slog.Error("cannot deliver push notifications", "error", err)
		}
	})
	if s.Settings.Serve.Mind != nil && *s.Settings.Serve.Mind && !s.NoMind {
		work.Go(func() { s.Minds.KeepAll(serving, app.MindOwners(guard)) })
	}
	rest := make(chan struct{})
	defer s.OnInterrupt(func() { close(rest) })()
	defer ignoreBrokenPipe()()
	if err := s.Ready(at); err != nil {
		return err
	}
	defer s.notifyWhileReady(serving, at)()
	if s.Opened != nil {
		work.Go(func() {
			if p, ok := s.openOwnPage(serving); ok {
				s.Opened(p)
			}
		})
	}
	var failed error
	select {
	case err := <-ended:
		return fmt.Errorf("listen on %s: %w", at, err)
	case failed = <-lost:
	case <-rest:
	case <-ctx.Done():
	}
	stop() // ends streams and rejects new work
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		srv.Close()
	}
	return failed
}

func (s *Server) newHandler(ctx context.Context, guard auth.Config) (http.Handler, error) {
	page, err := newWebPage(s.Page)
	if err != nil {
		return nil, err
	}
	if s.credentials, err = credential.Open(ctx, s.Store.SQL()); err != nil {
		return nil, err
	}
	more, refuse := MountProtocols(s.protocols(ctx))
	slog.Debug("mounted the client protocols", "routes", strings.Join(slices.Sorted(maps.Keys(more)), ", "))
	maps.Copy(more, s.adminRoutes())
	page.mountOn(more)
	guard.SignIns, guard.Public = s.credentials, page.isPublic
	return s.Meter.Handler(httpapi.New(ctx, httpapi.Config{
		Store: s.Public, Hub: s.Hub, Guard: auth.New(guard), Service: s, Version: s.Version, Logger: slog.Default(),
		Ready: s.checkReady, ModelNotes: s.ModelNotes, Calibration: s.Calibrated, Afford: s.CostsMore, Requests: s.DB, Memory: limitio.NewMemory(s.Settings.Serve.RequestMemory()), Seen: s.Meter.Request, More: more, Refuse: refuse,
		App: s.App.As, Shares: s.credentials, Print: newPrint(),
	})), nil
}

// newPrint returns a function that makes PDFs, or nil without a browser on this machine.
func newPrint() func(context.Context, []byte) ([]byte, error) {
	printer := pdf.NewPrinter()
	if printer == nil {
		return nil
	}
	return func(ctx context.Context, html []byte) ([]byte, error) {
		text, err := printer.Print(ctx, html)
		if errors.Is(err, pdf.ErrBusy) || errors.Is(err, pdf.ErrMemory) || errors.Is(err, process.ErrTimeout) {
			err = app.NotReadyf("%w: try again later, or print the HTML report in your browser", err)
		}
		return text, err
	}
}

// A Server serves the use cases of a service over HTTP.
type Server struct {
	*app.Service
	Hosts   *mcp.Hosts // models of MCP clients
	Version string     // program version
	NoMind  bool       // disables ticks of the subconscious despite serve.mind
	Page    fs.FS      // files of the web page; nil: none

	OnInterrupt func(stop func()) (undo func()) // registers stop for an interrupt of the user
	Ready       func(address string) error      // called once the server responds
	Opened      func(OpenResult)                // called after the page is opened; nil: do not open it

	hooks  *responses.Hooks // deliver webhooks about ended responses
	agents *a2a.Server      // delivers push notifications about tasks

	credentials *credential.Store // sign-ins and shares
}

// Thresholds of readiness.
const (
	minFree   = 16 << 20        // bytes for the write-ahead log
	fileEvery = 2 * time.Second // interval of checks that the database file is unchanged
)

// checkReady returns an error if the server should get no work.
func (s *Server) checkReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, app.ReadyTime)
	defer cancel()
	nodes, err := s.Store.AllNodes(ctx)
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	if !hasBeat(nodes, placement.CurrentNode(), time.Now()) {
		return fmt.Errorf("cannot write to the database for %s: check for a full disk or a lock of another program", ponder.DeadAfter)
	}
	if free, known := FreeSpace(filepath.Dir(s.DatabasePath())); known && free < minFree {
		return fmt.Errorf("the disk of the database is full: %s free, %s required", textkit.Bytes(free), textkit.Bytes(minFree))
	}
	return errors.Join(s.Store.Damaged(), s.Store.Lost())
}

// hasBeat reports whether a node of this process has beaten recently.
func hasBeat(nodes []ponder.Node, self ponder.Node, now time.Time) bool {
	return slices.ContainsFunc(nodes, func(n ponder.Node) bool {
		return n.Host == self.Host && n.PID == self.PID && n.Start == self.Start && now.Sub(n.Beat) < ponder.DeadAfter
	})
}

// watchLost returns nil when ctx ends, or lost's error after two consecutive failures.
func watchLost(ctx context.Context, lost func() error, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for gone := 0; ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		err := lost()
		if err == nil {
			gone = 0
		} else if gone++; gone > 1 {
			return err
		}
	}
}

// ignoreBrokenPipe lets the server continue when no process reads its log.
func ignoreBrokenPipe() (undo func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // makes writes fail; children do not inherit ignored signals
	return func() { signal.Stop(pipe) }
}

const credentialInterval = time.Hour

// cleanUpCredentials deletes expired sign-ins and shares until ctx is done.
func (s *Server) cleanUpCredentials(ctx context.Context) {
	tick := time.NewTicker(credentialInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := s.credentials.Cleanup(ctx, time.Now()); err != nil && ctx.Err() == nil {
			slog.Warn("cannot delete expired credentials", "error", err)
		}
	}
}
