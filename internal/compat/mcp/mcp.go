// Package mcp serves the Model Context Protocol, in both eras, over HTTP and standard input and output. Its
// tools are Ponder's ways of thinking. Without a configured model, the host's model thinks: step by step
// ([Hosts]), or through sampling.
//
// mcp.go has the transports, server.go the tools and prompts, direct.go calls without a session. think.go,
// session.go and memory.go have the tools; step.go, host.go and sample.go the host's model; task.go long
// work; subscription.go changes of resources; lines.go the stream; coerce.go and exactid.go values that
// clients write in other forms.
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

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/limitio"
)

const Path = "/mcp"

// modern is the first version without sessions.
const modern = "2026-07-28"

const (
	maxBody     = 8 << 20   // bytes of a message
	idleTime    = time.Hour // lifetime of an idle session
	contactTime = 5 * time.Second
	maxSeen     = 1000 // of sessions with a recorded request
)

type Config struct {
	Desk    *compat.Dispatcher
	Hosts   *Hosts // the models of clients; nil: not offered
	Version string
	Extra   Extra
}

// Extra adds features for conformance suites. Its functions may be nil.
type Extra struct {
	Options func(*sdk.ServerOptions)
	Add     func(*sdk.Server)    // adds tools, prompts and resources
	Task    func(id string) Task // returns a task of an added tool, or nil
}

// A Server serves the protocol. It is safe for concurrent use.
type Server struct {
	Config
	key     []byte // signs [state]
	ids     exactIDs
	texts   *limitio.LongTexts // of requests over HTTP
	library bool               // the SDK answers all requests, for tests

	mu   sync.Mutex
	list map[string]*sessionServer // by caller
}

// New returns a server. c.Hosts then pauses sessions without clients.
func New(c Config) *Server {
	s := &Server{Config: c, key: make([]byte, 32), ids: newExactIDs(), texts: limitio.NewLongTexts(), list: make(map[string]*sessionServer)}
	if _, err := rand.Read(s.key); err != nil {
		panic(err)
	}
	if c.Hosts != nil {
		c.Hosts.setPauser(s.pauseAwaiting)
	}
	return s
}

func (s *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{Path: http.HandlerFunc(s.serveRequest)}
}

// A sessionServer serves one caller, because tools depend on the caller and sessions are private.
type sessionServer struct {
	client   *client
	server   *sdk.Server
	sessions http.Handler // of the era of sessions
	requests http.Handler // of the era without sessions

	mu   sync.Mutex
	seen map[string]time.Time // last request of each open session
}

func (s *Server) callerServer(c auth.Caller) *sessionServer {
	js, err := json.Marshal(c)
	if err != nil { // strings encode
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.list[string(js)]
	if h == nil {
		h = &sessionServer{seen: make(map[string]time.Time)}
		h.client = &client{Server: s, caller: c, session: h}
		h.server = s.serverFor(h.client)
		get := func(*http.Request) *sdk.Server { return h.server }
		h.sessions = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			MaxRequestBodyBytes: maxBody, SessionTimeout: idleTime, DisableLocalhostProtection: true, // the server's own guard checks hosts
			EventStore: sdk.NewMemoryEventStore(nil), // for clients that resume a stream
		})
		h.requests = sdk.NewStreamableHTTPHandler(get, &sdk.StreamableHTTPOptions{
			Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true,
		})
		s.list[string(js)] = h
	}
	return h
}

func (s *Server) serveRequest(w http.ResponseWriter, r *http.Request) {
	c := auth.CallerOf(r.Context())
	if !c.HasScope(auth.Read) {
		Refuse(w, http.StatusForbidden, "this token lacks a scope: use a token with the scope read")
		return
	}
	h := s.callerServer(c)
	if isLargeAnswer(r) {
		Refuse(w, http.StatusRequestEntityTooLarge, "the answer is larger than 1 MiB: answer with less text")
		return
	}
	defer s.texts.CutRequest(r)()
	s.ids.encodeRequest(r)
	w = exactWriter{w, s.ids}
	if r.Header.Get("Mcp-Protocol-Version") >= modern {
		if !sameTask(w, r) {
			return
		}
		if s.library || !h.client.serveDirect(w, r) {
			limitio.ReadBodyOnce(r)
			h.requests.ServeHTTP(w, r)
		}
		return
	}
	h.noteContact(r)
	limitio.ReadBodyOnce(r)
	h.sessions.ServeHTTP(w, r)
}

// isLargeAnswer reports whether the client answers a request of the server with too much. Such an answer outlives its HTTP
// request, and so the texts of it.
func isLargeAnswer(r *http.Request) bool {
	if r.Method != http.MethodPost || r.Body == nil {
		return false
	}
	body, err := limitio.RequestBody(r)
	if err != nil || len(body) <= limitio.LargeBody {
		return false
	}
	var message object
	return json.Unmarshal(body, &message) != nil || message["method"] == nil
}

func (h *sessionServer) noteContact(r *http.Request) {
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
	if len(h.seen) >= maxSeen {
		for one, at := range h.seen {
			if time.Since(at) > idleTime {
				delete(h.seen, one)
			}
		}
	}
	if len(h.seen) < maxSeen || !h.seen[id].IsZero() {
		h.seen[id] = time.Now()
	}
}

func (h *sessionServer) isConnected(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.seen[id]) < contactTime
}

// Refuse writes a JSON-RPC error.
func Refuse(w http.ResponseWriter, status int, detail string) {
	writeRPCError(w, status, nil, jsonrpc.CodeInvalidRequest, detail)
}

func writeRPCError(w http.ResponseWriter, status int, id json.RawMessage, code int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": detail},
	})
}

// ServeStream serves a caller over lines, until ctx is done or the client closes its end. Then it waits at most
// lastAnswers for pending answers. Work continues without the client.
func (s *Server) ServeStream(ctx context.Context, caller auth.Caller, in io.ReadCloser, out io.WriteCloser) error {
	r := &eofReader{ReadCloser: in, ended: make(chan struct{})}
	server := s.serverFor(&client{Server: s, caller: caller, left: r.ended})
	to := &syncWriter{WriteCloser: out}
	from := newLines(r, to, maxBody)
	from.ids = s.ids
	err := server.Run(ctx, &sdk.IOTransport{Reader: from, Writer: answerTracker{to, from.calls, s.ids}, MaxLineLength: maxBody + 1})
	gone := errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, sdk.ErrConnectionClosed)
	if gone || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil //nolint:nilerr // that is how it ends
	}
	return err
}

// An eofReader reader closes ended at its first error.
type eofReader struct {
	io.ReadCloser
	once  sync.Once
	ended chan struct{}
}

func (e *eofReader) Read(b []byte) (n int, err error) {
	if n, err = e.ReadCloser.Read(b); err != nil {
		e.once.Do(func() { close(e.ended) })
	}
	return n, err
}

type client struct {
	*Server
	caller  auth.Caller
	session *sessionServer  // nil without HTTP
	left    <-chan struct{} // closed with the stream; nil with HTTP

	info          *sdk.Implementation
	server        *sdk.Server
	tools         map[string]directTool
	inputs        map[string]*jsonschema.Schema // of tools
	subscriptions subscriptions
}

func (c *client) withCaller(ctx context.Context) context.Context {
	return auth.WithCaller(ctx, c.caller)
}

func (c *client) checkScope(s auth.Scope) error {
	if !c.caller.HasScope(s) {
		return &compat.APIError{Status: http.StatusForbidden, Detail: "this token lacks a scope: use a token with the scope " + string(s)}
	}
	return nil
}

// wasCancelled reports whether the client cancelled an ended call, rather than disconnected.
func (c *client) wasCancelled(req *sdk.CallToolRequest) bool {
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
	if req.ProtocolVersion() >= modern || c.session == nil {
		return true
	}
	return c.session.isConnected(req.Session.ID())
}

func (c *client) clientError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return wire
	}
	f := c.Desk.APIErrorOf(err)
	if text := cmp.Or(f.Detail, "internal error"); f.Field == "" || strings.HasPrefix(text, f.Field) {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", f.Field, f.Detail)
}

func canSample(req *sdk.CallToolRequest) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Sampling != nil
}

func declaresExtension(caps *sdk.ClientCapabilities, name string) bool {
	if caps == nil {
		return false
	}
	_, ok := caps.Extensions[name]
	return ok
}

func oneOf(field, word string, list ...string) error {
	if slices.Contains(list, word) {
		return nil
	}
	return compat.InvalidField(field, "%s: expected one of %q", field, list)
}
