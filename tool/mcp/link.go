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

// Times of the connection to a server.
const (
	connectTime = time.Minute     // limit for connecting and listing; some programs are downloaded first
	firstPause  = 5 * time.Second // before the first reconnection
	maxPause    = 5 * time.Minute
	listPause   = 10 * time.Second // the shortest interval of listings
	leaveTime   = time.Second      // limit for a cancelled call to end
)

// legacy is the protocol version of the first attempt. Nearly all servers with a later
// version support it, and some others exit when a client requests a later one.
const legacy = "2025-11-25"

// A link holds the session with a server.
type link struct {
	Server
	pool   *Pool
	config Config
	life   context.Context // ends with the pool

	mu      sync.Mutex
	session *serverSession
	list    toolList
	err     error         // the reason why there is no session
	ready   chan struct{} // set while connecting, then closed
	retry   time.Time     // the earliest time of the next attempt
	pause   time.Duration
	silent  int       // consecutive calls without an answer
	listed  time.Time // the time of the last listing
	stale   bool      // the list has changed since
	closed  bool
}

// A serverSession is a session with the function that ends its transport.
type serverSession struct {
	*sdk.ClientSession
	end func()
}

// hangUp ends a session without waiting for the server.
func (t *serverSession) hangUp() {
	t.end() // first, because a write may be blocked
	_ = t.Close()
}

// connectAsync starts a connection attempt, unless there is a session, or the last attempt failed
// recently and now is false. It returns a channel that is closed when the attempt has
// ended.
func (l *link) connectAsync(now bool) <-chan struct{} {
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

// connect opens a session and lists the tools.
func (l *link) connect() {
	ctx, cancel := context.WithTimeout(l.life, connectTime)
	defer cancel()
	session, err := l.openSession(ctx)
	var list toolList
	if err == nil {
		if list, err = l.listTools(ctx, session); err != nil {
			go session.hangUp()
		}
	}
	err = l.cleanError(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(l.ready)
	l.ready = nil
	if err == nil && l.closed {
		go session.hangUp()
		return
	}
	l.storeResult(session, list, err)
}

// storeResult stores the result of a connection attempt. The caller holds l.mu.
func (l *link) storeResult(session *serverSession, list toolList, err error) {
	if err != nil {
		if l.err == nil && !l.closed {
			logWarning(l.Name, "cannot be reached; its tools are missing", err)
		}
		l.err = err
		l.pause = min(max(firstPause, 2*l.pause), maxPause)
		l.retry = time.Now().Add(l.pause)
		l.replaceList(toolList{Identity: l.list.Identity})
		return
	}
	l.session, l.err, l.pause, l.silent, l.stale, l.listed = session, nil, 0, 0, false, time.Now()
	l.replaceList(list)
	go func() {
		err := session.Wait()
		l.handleEnd(session, err)
	}()
}

// replaceList replaces the list. The caller holds l.mu.
func (l *link) replaceList(list toolList) {
	if !l.list.hasSameTools(list) {
		l.pool.changed.Add(1)
	}
	l.list = list
}

// openSession opens a session with the legacy protocol, or else with the newest.
func (l *link) openSession(ctx context.Context) (*serverSession, error) {
	session, err := l.openVersion(ctx, legacy)
	if err == nil || ctx.Err() != nil || errors.Is(err, process.ErrStart) {
		return session, err
	}
	if session, again := l.openVersion(ctx, ""); again == nil {
		return session, nil
	}
	return nil, err
}

// openVersion opens a session with a protocol version.
func (l *link) openVersion(ctx context.Context, version string) (*serverSession, error) {
	conn, err := l.openTransport()
	if err != nil {
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "ponder", Version: l.config.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { l.scheduleRelist() },
	})
	session, err := callUntilDone(ctx, func() (*sdk.ClientSession, error) {
		return client.Connect(ctx, conn, &sdk.ClientSessionOptions{ProtocolVersion: version})
	}, func(late *sdk.ClientSession) {
		conn.end()
		if late != nil {
			_ = late.Close() // do has returned after its caller left
		}
	})
	if err != nil {
		conn.end()
		if output := conn.output(); output != "" {
			err = fmt.Errorf("%w; it printed: %s", err, output)
		}
		return nil, err
	}
	return &serverSession{session, conn.end}, nil
}

// callUntilDone calls do and waits until shortly after the end of ctx, because a server that does
// not read can block a write. If do still runs then, it calls late with a zero value,
// and again with the result of do.
func callUntilDone[T any](ctx context.Context, do func() (T, error), late func(T)) (T, error) {
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

// handleEnd handles the end of a session.
func (l *link) handleEnd(session *serverSession, err error) {
	go session.hangUp() // ends the program too
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != session {
		return
	}
	l.session = nil
	if !l.closed {
		logWarning(l.Name, "ended the session; the next use reconnects", l.cleanError(err))
	}
}

// dropSession ends a session.
func (l *link) dropSession(session *serverSession) {
	l.mu.Lock()
	if l.session == session {
		l.session = nil
	}
	l.mu.Unlock()
	go session.hangUp()
}

// scheduleRelist schedules a new listing after a change, at most every listPause.
func (l *link) scheduleRelist() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil || l.stale || l.closed {
		return // a listing is pending or useless
	}
	l.stale = true
	session, wait := l.session, time.Until(l.listed.Add(listPause))
	l.pool.ended.Go(func() {
		pause := time.NewTimer(max(0, wait))
		defer pause.Stop()
		select {
		case <-pause.C:
			l.relistTools(session)
		case <-l.life.Done():
		}
	})
}

// relistTools lists the tools again. After an error the old list stays.
func (l *link) relistTools(session *serverSession) {
	l.mu.Lock()
	l.stale, l.listed = false, time.Now() // later changes schedule another listing
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(l.life, connectTime)
	defer cancel()
	list, err := l.listTools(ctx, session)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.session == session {
		l.replaceList(list)
	}
}

func (l *link) close() {
	l.mu.Lock()
	session, ready := l.session, l.ready
	l.closed, l.session = true, nil
	l.mu.Unlock()
	if session != nil {
		_, _ = callUntilDone(l.life, func() (struct{}, error) { return struct{}{}, session.Close() }, func(struct{}) {})
		session.hangUp()
	}
	if ready != nil {
		<-ready
	}
}

// currentTools returns the current tools.
func (l *link) currentTools() []Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list.Tools)
}

// currentReport returns the state of the server.
func (l *link) currentReport() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{Name: l.Name, Identity: l.list.Identity, Tools: slices.Clone(l.list.Tools), LeftOut: slices.Clone(l.list.LeftOut), Err: l.err}
	if l.ready != nil {
		r.Err = errors.New("no answer yet")
	}
	return r
}

// openedSession returns the session, and opens one if there is none.
func (l *link) openedSession(ctx context.Context) (*serverSession, error) {
	ready := l.connectAsync(false)
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
