package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"ponder/internal/app"
	"ponder/internal/compat/mcp"
	"ponder/internal/compat/responses"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/placement"
)

// A webServer answers requests over HTTP with the use cases of a service.
type webServer struct {
	*app.Service
	Hosts   *mcp.Hosts // the models of clients
	Version string     // of the program
	NoMind  bool       // the subconscious does not tick, whatever serve.mind says

	OnInterrupt func(stop func()) (undo func()) // has stop called when the user interrupts the program
	Ready       func(address string) error      // is called once the server answers

	hooks *responses.Hooks // that tell how responses have ended
}

// Bounds of a server that is well.
const (
	minFree   = 16 << 20        // bytes beside the database: what its write-ahead log may come to
	fileEvery = 2 * time.Second // how often is made sure that the database is still the file that it was
)

// ready says why the server should be sent no work.
func (s *webServer) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, app.ReadyTime)
	defer cancel()
	nodes, err := s.Store.AllNodes(ctx)
	if err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	if !beats(nodes, placement.Self(), time.Now()) {
		return fmt.Errorf("nothing could be written to the database for %s: is the disk full, or does another program lock it?", ponder.DeadAfter)
	}
	if free, known := freeSpace(filepath.Dir(s.DatabasePath())); known && free < minFree {
		return fmt.Errorf("the disk of the database is full: %s are free, %s are needed", textkit.Bytes(free), textkit.Bytes(minFree))
	}
	return errors.Join(s.Store.Damaged(), s.Store.Lost())
}

// beats reports whether a process has written not long ago that it lives.
func beats(nodes []ponder.Node, self ponder.Node, now time.Time) bool {
	for _, n := range nodes {
		if n.Host == self.Host && n.PID == self.PID && n.Start == self.Start && now.Sub(n.Beat) < ponder.DeadAfter {
			return true
		}
	}
	return false
}

// watchLost returns nil when ctx is done, or what lost says when the database has been lost
// for a while.
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

// unread has the server go on when nobody reads its log any more.
func unread() (undo func()) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // so that writing fails; what it starts is not told to ignore it
	return func() { signal.Stop(pipe) }
}
