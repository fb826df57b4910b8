package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/process"
)

// How long is waited for a server.
const (
	connectTime = time.Minute      // until it has said what tools it has; some are downloaded first
	firstPause  = 5 * time.Second  // before it is tried again
	mostPause   = 5 * time.Minute  //
	listPause   = 10 * time.Second // between two looks at its list, however often it changes
	leaveTime   = time.Second      // for a call to end that is not wanted any more
)

// legacy is the protocol that servers are spoken to in first: of those that know a later
// one, nearly all know it, and some of the others end when they are asked for that.
const legacy = "2025-11-25"

// A link is the session with a server, as long as there is one.
type link struct {
	Server
	pool   *Pool
	config Config
	life   context.Context //nolint:containedctx // of the pool

	mu      sync.Mutex
	session *talk
	list    listing
	err     error         // why there is none
	ready   chan struct{} // while it is connected to; closed then
	retry   time.Time     // not before
	pause   time.Duration
	silent  int       // calls in a row that were not answered
	listed  time.Time // when the list was asked for last
	stale   bool      // the list has changed since
	closed  bool
}

// A talk is a session, and what cuts it off.
type talk struct {
	*sdk.ClientSession
	end func()
}

// hangUp ends a session that nothing is expected of any more.
func (t *talk) hangUp() {
	t.end() // first: what is written to it may be stuck
	_ = t.Close()
}

// begin connects, unless there is a session, or it failed lately and is not to be tried
// now. The channel is closed once that has come to an end.
func (l *link) begin(now bool) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready != nil {
		return l.ready
	}
	ready := make(chan struct{})
	if l.closed || l.session != nil || !now && time.Now().Before(l.retry) {
		close(ready)
		return ready
	}
	l.ready = ready
	l.pool.ended.Go(l.connect)
	return ready
}

// connect makes a session, and asks for the tools.
func (l *link) connect() {
	ctx, cancel := context.WithTimeout(l.life, connectTime)
	defer cancel()
	session, err := l.greet(ctx)
	var list listing
	if err == nil {
		if list, err = l.ask(ctx, session); err != nil {
			go session.hangUp()
		}
	}
	err = l.plain(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(l.ready)
	l.ready = nil
	if err == nil && l.closed {
		go session.hangUp()
		return
	}
	l.settle(session, list, err)
}

// settle takes in what connecting came to. The caller holds l.mu.
func (l *link) settle(session *talk, list listing, err error) {
	if err != nil {
		if l.err == nil && !l.closed {
			warn(l.Name, "cannot be reached: its tools are missing", err)
		}
		l.err = err
		l.pause = min(max(firstPause, 2*l.pause), mostPause)
		l.retry = time.Now().Add(l.pause)
		l.replace(listing{Is: l.list.Is})
		return
	}
	l.session, l.err, l.pause, l.silent, l.stale, l.listed = session, nil, 0, 0, false, time.Now()
	l.replace(list)
	go func() {
		err := session.Wait()
		l.lost(session, err)
	}()
}

// replace puts a list in place of that before. The caller holds l.mu.
func (l *link) replace(list listing) {
	if !l.list.same(list) {
		l.pool.changed.Add(1)
	}
	l.list = list
}

// greet makes a session: in the protocol that most know, else in the newest.
func (l *link) greet(ctx context.Context) (*talk, error) {
	session, err := l.open(ctx, legacy)
	if err == nil || ctx.Err() != nil || errors.Is(err, process.ErrStart) {
		return session, err
	}
	if session, again := l.open(ctx, ""); again == nil {
		return session, nil
	}
	return nil, err
}

// open makes a session in a version of the protocol.
func (l *link) open(ctx context.Context, version string) (*talk, error) {
	way, err := l.transport()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ponder", Version: l.config.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.refresh() },
	})
	session, err := within(ctx, func() (*sdk.ClientSession, error) {
		return client.Connect(ctx, way, &sdk.ClientSessionOptions{ProtocolVersion: version})
	}, func(late *sdk.ClientSession) {
		way.end()
		if late != nil {
			_ = late.Close() // nobody waits for it
		}
	})
	if err != nil {
		way.end()
		if said := way.said(); said != "" {
			err = fmt.Errorf("%w; it printed: %s", err, said)
		}
		return nil, err
	}
	return &talk{session, way.end}, nil
}

// within does what should end with ctx, and does not wait for it much longer: a server
// that reads nothing can hold up what is written to it. If it goes on, late is told, and
// told again what came of it.
func within[T any](ctx context.Context, do func() (T, error), late func(T)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := do()
		done <- outcome{v, err}
	}()
	var zero T
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
	}
	grace := time.NewTimer(leaveTime)
	defer grace.Stop()
	select {
	case o := <-done:
		return o.v, o.err
	case <-grace.C:
	}
	go func() {
		late(zero)
		late((<-done).v)
	}()
	return zero, context.Cause(ctx)
}

// lost takes in that a session has ended.
func (l *link) lost(session *talk, err error) {
	go session.hangUp() // its program is ended, too
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session {
		return
	}
	l.session = nil
	if !l.closed {
		warn(l.Name, "has ended the session: it is connected to again when it is wanted", l.plain(err))
	}
}

// drop ends a session.
func (l *link) drop(session *talk) {
	l.mu.Lock()
	if l.session == session {
		l.session = nil
	}
	l.mu.Unlock()
	go session.hangUp()
}

// refresh asks for the tools again, which have changed, not too often.
func (l *link) refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil || l.stale || l.closed {
		return // it is asked anyway, or will be
	}
	l.stale = true
	session, wait := l.session, time.Until(l.listed.Add(listPause))
	l.pool.ended.Go(func() {
		pause := time.NewTimer(max(0, wait))
		defer pause.Stop()
		select {
		case <-pause.C:
			l.relist(session)
		case <-l.life.Done():
		}
	})
}

// relist asks for the tools again. If there is no answer, what was there stays.
func (l *link) relist(session *talk) {
	l.mu.Lock()
	l.stale, l.listed = false, time.Now() // what changes from now on is asked for once more
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.life, connectTime)
	defer cancel()
	list, err := l.ask(ctx, session)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.session == session {
		l.replace(list)
	}
}

// close ends the session.
func (l *link) close() {
	l.mu.Lock()
	session, ready := l.session, l.ready
	l.closed, l.session = true, nil
	l.mu.Unlock()
	if session != nil {
		_, _ = within(l.life, func() (struct{}, error) { return struct{}{}, session.Close() }, func(struct{}) {})
		session.hangUp()
	}
	if ready != nil {
		<-ready
	}
}

// offers returns the tools that there are.
func (l *link) offers() []Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list.Tools)
}

// report says how the server is.
func (l *link) report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Name: l.Name, Is: l.list.Is, Tools: slices.Clone(l.list.Tools), LeftOut: slices.Clone(l.list.LeftOut), Err: l.err}
	if l.ready != nil {
		r.Err = errors.New("it has not answered yet")
	}
	return r
}

// connected returns the session, and makes one if there is none.
func (l *link) connected(ctx context.Context) (*talk, error) {
	ready := l.begin(false)
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.session != nil:
		return l.session, nil
	case l.err != nil:
		return nil, fmt.Errorf("the MCP server %s cannot be reached: %w", l.Name, l.err)
	}
	return nil, fmt.Errorf("the MCP server %s has ended the session: try again later", l.Name)
}
