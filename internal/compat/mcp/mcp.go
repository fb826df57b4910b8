// Package mcp speaks the Model Context Protocol: Ponder's ways of thinking are tools of
// any host that speaks it, over HTTP and over standard input and output, in both eras of
// the protocol. Without a key for a model, the host's own model thinks: step by step
// ([Hosts]), or asked through the host where that offers it.
//
// mcp.go has the transports, direct.go calls that need no session of the library, server.go
// what a caller is offered, think.go, session.go and memory.go the tools, step.go and host.go
// thinking by the host's model, sample.go asking it, task.go long work and task_desk.go ours,
// lines.go what comes over a stream, resource.go and prompt.go the rest.
package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/auth"
	"ponder/internal/compat"
)

// Path is where the protocol is spoken over HTTP.
const Path = "/mcp"

// modern is the version of the protocol from which on there are no sessions.
const modern = "2026-07-28"

// Bounds of a connection.
const (
	maxBody  = 8 << 20   // bytes of a message
	idleTime = time.Hour // after which a session of a client is forgotten
	lately   = 5 * time.Second
	mostSeen = 1000 // sessions whose last request is remembered
)

// A Config says what a server of the protocol is made of.
type Config struct {
	Desk    *compat.Desk
	Hosts   *Hosts // the models of clients; nil: their models do not think
	Version string // of the program
	Extra   Extra
}

// An Extra is what is offered beside Ponder's own: suites that test servers ask for tools
// of theirs.
type Extra struct {
	Options func(*sdk.ServerOptions) // changes what servers are made with; may be nil
	Add     func(*sdk.Server)        // adds tools, prompts and resources; may be nil
	Task    func(id string) Task     // returns a task of one of the tools, or nil; may be nil
}

// A Server speaks the protocol. It is safe for concurrent use.
type Server struct {
	Config
	key     []byte // signs what clients hand back
	library bool   // answers all, also what can be answered without a session

	mu   sync.Mutex
	list map[string]*hall // by caller
}

// New returns a server. What is thought by the models of clients waits for them from now
// on.
func New(c Config) *Server {
	s := &Server{Config: c, key: make([]byte, 32), list: make(map[string]*hall)}
	if _, err := rand.Read(s.key); err != nil { // which does not happen
		panic(err)
	}
	if c.Hosts != nil {
		c.Hosts.rest(s.letRest)
	}
	return s
}

// Routes returns the handlers by their patterns.
func (s *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{Path: http.HandlerFunc(s.serve)}
}

// A hall is where a caller is served. What is offered depends on the caller, and the
// sessions of one are not for another.
type hall struct {
	client   *client
	server   *sdk.Server
	sessions http.Handler // of clients of the era before
	requests http.Handler // of those without sessions

	mu   sync.Mutex
	seen map[string]time.Time // the last request of each session that has not been ended
}

// hall returns that of a caller.
func (s *Server) hall(c auth.Caller) *hall {
	js, err := json.Marshal(c)
	if err != nil { // which strings cannot be
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.list[string(js)]
	if h == nil {
		h = &hall{seen: make(map[string]time.Time)}
		h.client = &client{Server: s, caller: c, hall: h}
		h.server = s.serverFor(h.client)
		get := func(*http.Request) *sdk.Server { return h.server }
		h.sessions = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			MaxRequestBodyBytes: maxBody, SessionTimeout: idleTime, DisableLocalhostProtection: true, // the guard looks at hosts
			EventStore: sdk.NewMemoryEventStore(nil), // a client whose stream breaks off comes again with the id of the last event
		})
		h.requests = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		})
		s.list[string(js)] = h
	}
	return h
}

// serve answers a request, in the era that it says it is of.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	c := auth.CallerOf(r.Context())
	if !c.May(auth.Read) {
		Refuse(w, http.StatusForbidden, "this token is not for that: it needs the scope read")
		return
	}
	h := s.hall(c)
	if r.Header.Get("Mcp-Protocol-Version") >= modern {
		if !sameTask(w, r) {
			return
		}
		if s.library || !h.client.direct(w, r) {
			h.requests.ServeHTTP(w, r)
		}
		return
	}
	h.note(r)
	h.sessions.ServeHTTP(w, r)
}

// note notes when a session was last heard of.
func (h *hall) note(r *http.Request) {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Method == http.MethodDelete {
		delete(h.seen, id)
		return
	}
	if len(h.seen) >= mostSeen {
		for one, at := range h.seen {
			if time.Since(at) > idleTime {
				delete(h.seen, one)
			}
		}
	}
	if len(h.seen) < mostSeen || !h.seen[id].IsZero() {
		h.seen[id] = time.Now()
	}
}

// heard reports whether a session was heard of just now, and has not ended.
func (h *hall) heard(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.seen[id]) < lately
}

// Refuse answers a request that is not let in, as the protocol has it.
func Refuse(w http.ResponseWriter, status int, detail string) {
	refuse(w, status, nil, jsonrpc.CodeInvalidRequest, detail)
}

// refuse answers the request of an id with an error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": detail},
	})
}

// Talk serves a caller over a stream of lines until the client closes it, and what it asked
// before is answered, if that takes no longer than a few seconds; or until ctx is done. What
// is being thought goes on without the client.
func (s *Server) Talk(ctx context.Context, caller auth.Caller, in io.ReadCloser, out io.WriteCloser) error {
	r := &ending{ReadCloser: in, ended: make(chan struct{})}
	server := s.serverFor(&client{Server: s, caller: caller, left: r.ended})
	to := &shared{WriteCloser: out}
	from := newLines(r, to, maxBody)
	err := server.Run(ctx, &sdk.IOTransport{Reader: from, Writer: answering{to, from.calls}, MaxLineLength: maxBody + 1})
	gone := errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, sdk.ErrConnectionClosed)
	if gone || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil //nolint:nilerr // that is how it ends
	}
	return err
}

// An ending is a reader that says when it has come to its end, before who reads knows.
type ending struct {
	io.ReadCloser
	once  sync.Once
	ended chan struct{}
}

func (e *ending) Read(b []byte) (n int, err error) {
	if n, err = e.ReadCloser.Read(b); err != nil {
		e.once.Do(func() { close(e.ended) })
	}
	return n, err
}

// A client is a caller who is served, and whether it is still there.
type client struct {
	*Server
	caller auth.Caller
	hall   *hall           // of HTTP
	left   <-chan struct{} // closed when the stream has ended; nil: of HTTP

	info  *sdk.Implementation   // what it is told of Ponder
	tools map[string]directTool // by name
}

// in returns a context of a request of the caller.
func (c *client) in(ctx context.Context) context.Context { return auth.With(ctx, c.caller) }

// may refuses what the caller's token is not for.
func (c *client) may(s auth.Scope) error {
	if !c.caller.May(s) {
		return &compat.Fault{Status: http.StatusForbidden, Detail: "this token is not for that: it needs the scope " + string(s)}
	}
	return nil
}

// cancelled reports whether a call that is done was taken back, rather than that the
// client, or the server, has gone away.
func (c *client) cancelled(req *sdk.CallToolRequest) bool {
	if c.Desk.Gone != nil && c.Desk.Gone.Err() != nil {
		return false
	}
	if c.left != nil {
		select {
		case <-c.left:
			return false
		default:
			return true
		}
	}
	if req.ProtocolVersion() >= modern || c.hall == nil {
		return true
	}
	return c.hall.heard(req.Session.ID())
}

// told returns what a client is told of an error.
func (c *client) told(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire
	}
	f := c.Desk.FaultOf(err)
	if text := cmp.Or(f.Detail, "something failed in the server"); f.Field == "" || strings.HasPrefix(text, f.Field) {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", f.Field, f.Detail)
}

// sampling reports whether a client lets its model be asked.
func sampling(req *sdk.CallToolRequest) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Sampling != nil
}

// declares reports whether a client knows an extension.
func declares(caps *sdk.ClientCapabilities, name string) bool {
	if caps == nil {
		return false
	}
	_, ok := caps.Extensions[name]
	return ok
}

// oneOf returns an error unless a word is one of a list.
func oneOf(field, word string, list ...string) error {
	if slices.Contains(list, word) {
		return nil
	}
	return compat.Wrong(field, "%s: expected one of %q", field, list)
}
