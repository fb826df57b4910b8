// Package a2a serves the Agent2Agent protocol, versions 1.0 and 0.3, as JSON-RPC and as HTTP+JSON. Its skills are Ponder's ways
// of thinking. A task is a session, a research or a turn of a conversation; its state is a fold over the log.
//
// a2a.go has the routes and the card, task.go the tasks, send.go the messages, stream.go the events, and push.go the
// push notifications.
package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/log"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/limitio"
	"ponder/internal/netaddr"
	"ponder/internal/stream"
)

// The routes.
const (
	Path     = "/a2a"      // JSON-RPC
	restPath = "/a2a/rest" // HTTP+JSON
)

// A RecordStore stores small records durably and is safe for concurrent use.
type RecordStore interface {
	// Put replaces a record with the same kind, owner and id.
	Put(ctx context.Context, kind, owner, id string, record []byte) error
	Drop(ctx context.Context, kind, owner, id string) error
	// Records returns the records of a kind by id; an empty owner means all.
	Records(ctx context.Context, kind, owner string) ([]app.Record, error)
}

type Config struct {
	Desk    *compat.Dispatcher
	Records RecordStore   // of push notifications; nil: not offered
	Client  *http.Client  // of push notifications; nil: only public addresses
	Guard   netaddr.Guard // of their addresses
	Version string
}

// A Server serves the protocol. It is safe for concurrent use.
type Server struct {
	Config
	texts *limitio.LongTexts

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of Run; nil before it
	watched map[string]bool // push configs by owner and key
	work    sync.WaitGroup
}

func New(c Config) *Server {
	return &Server{Config: c, texts: limitio.NewLongTexts(), watched: make(map[string]bool)}
}

// Routes returns the handlers by pattern.
func (s *Server) Routes() map[string]http.Handler {
	h := &handler{s}
	options := []a2asrv.TransportOption{
		a2asrv.WithTransportKeepAlive(stream.Heartbeat),
		a2asrv.WithTransportPanicHandler(func(p any) error {
			s.Desk.APIErrorOf(fmt.Errorf("panic: %v\n%s", p, debug.Stack())) // logs it
			return sdk.NewError(sdk.ErrInternalError, "internal error: see the server's log")
		}),
	}
	rest := http.StripPrefix(restPath, selectREST(a2asrv.NewRESTHandler(h, options...), a2av0.NewRESTHandler(h, options...)))
	return map[string]http.Handler{
		"GET " + a2asrv.WellKnownAgentCardPath: http.HandlerFunc(s.serveCard),
		"POST " + Path:                         s.silent(selectJSONRPC(a2asrv.NewJSONRPCHandler(h, options...), a2av0.NewJSONRPCHandler(h, options...))),
		restPath + "/":                         s.silent(rest),
	}
}

// selectJSONRPC selects the version of a request by its method: only those of version 0.3 have a slash.
func selectJSONRPC(current, old http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := limitio.RequestBody(r)
		if err != nil {
			Refuse(w, http.StatusBadRequest, "the request cannot be read")
			return
		}
		var in struct {
			Method string `json:"method"`
		}
		oldMethod := json.Unmarshal(body, &in) == nil && strings.Contains(in.Method, "/")
		limitio.ReadBodyOnce(r)
		if oldMethod {
			old.ServeHTTP(w, r)
			return
		}
		current.ServeHTTP(w, r)
	})
}

// selectREST selects the version of a request by its path.
func selectREST(current, old http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitio.ReadBodyOnce(r)
		if strings.HasPrefix(r.URL.Path, a2av0.RESTPathPrefix+"/") {
			old.ServeHTTP(w, r)
			return
		}
		current.ServeHTTP(w, r)
	})
}

// silent discards the log of the SDK, which has parts of requests, and gives it only short texts.
func (s *Server) silent(next http.Handler) http.Handler {
	quiet := slog.New(slog.DiscardHandler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.texts.CutRequest(r)()
		next.ServeHTTP(flushWriter{w}, r.WithContext(log.AttachLogger(r.Context(), quiet)))
	})
}

// A flushWriter can flush, which the SDK needs for streams.
type flushWriter struct{ http.ResponseWriter }

func (w flushWriter) Flush() {
	ctl := http.NewResponseController(w.ResponseWriter)
	_ = ctl.SetReadDeadline(time.Time{}) // a stream may be silent; a connection without deadlines never ends it
	_ = ctl.SetWriteDeadline(time.Now().Add(flushTimeout))
	_ = ctl.Flush()
}

// flushTimeout limits the time until a client must accept an event.
const flushTimeout = 2 * stream.Heartbeat

// Refuse writes a refusal of the guard as a JSON-RPC error.
func Refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32000, "message": detail}})
}

// serveCard needs no token, because clients read the card before they know which one to send.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request) {
	card := s.newCard(baseURL(r))
	js, err := json.Marshal(card)
	if both, ok := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer); ok {
		js, err = both.CardJSON(r.Context()) // with the fields of version 0.3
	}
	if err != nil {
		Refuse(w, http.StatusInternalServerError, s.Desk.APIErrorOf(err).Detail)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(js) // else the client is gone
}

// baseURL returns the address by which the client reaches the server.
func baseURL(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

const bearer sdk.SecuritySchemeName = "bearer"

func (s *Server) newCard(base string) *sdk.AgentCard {
	texts := []string{"text/plain", "text/markdown"}
	card := &sdk.AgentCard{
		Name: "Ponder", Version: cmp.Or(s.Version, "dev"),
		Description: "Thinks about questions for seconds to hours, does research with sources, and remembers. Options in the metadata of a message: " +
			"way, effort, minutes, max_cost_usd, max_calls, max_tokens, model, no_web, no_memory, plan_first.",
		SupportedInterfaces: []*sdk.AgentInterface{
			sdk.NewAgentInterface(base+Path, sdk.TransportProtocolJSONRPC), sdk.NewAgentInterface(base+restPath, sdk.TransportProtocolHTTPJSON),
			{URL: base + Path, ProtocolBinding: sdk.TransportProtocolJSONRPC, ProtocolVersion: a2av0.Version},
			{URL: base + restPath, ProtocolBinding: sdk.TransportProtocolHTTPJSON, ProtocolVersion: a2av0.Version},
		},
		Capabilities:         sdk.AgentCapabilities{Streaming: true, PushNotifications: s.Records != nil},
		DefaultInputModes:    append(texts[:len(texts):len(texts)], "application/json", "image/*"),
		DefaultOutputModes:   texts,
		SecuritySchemes:      sdk.NamedSecuritySchemes{bearer: sdk.HTTPAuthSecurityScheme{Scheme: "Bearer", Description: "A token of serve.tokens. A server without tokens needs none."}},
		SecurityRequirements: sdk.SecurityRequirementsOptions{{bearer: {}}},
	}
	for _, w := range ways.All() {
		card.Skills = append(card.Skills, sdk.AgentSkill{
			ID: w.ID, Name: w.Name, Description: w.Doc + " Select it with the metadata " + `{"way":"` + w.ID + `"}` + " or the command /" + w.ID + ".",
			Tags: []string{"thinking"}, Examples: []string{"/" + w.ID + " " + w.Example},
		})
	}
	return card
}

// A handler implements [a2asrv.RequestHandler] for the caller in the context.
type handler struct{ *Server }

var _ a2asrv.RequestHandler = (*handler)(nil)

// ownerOf returns the owner of a caller with the scope.
func ownerOf(ctx context.Context, s auth.Scope) (string, error) {
	c := auth.CallerOf(ctx)
	if !c.HasScope(s) {
		return "", sdk.NewError(sdk.ErrUnauthorized, "this token lacks a scope: use a token with the scope "+string(s))
	}
	return c.Owner, nil
}

// protocolError converts an error. It hides internal errors from the client.
func (s *Server) protocolError(err error) error {
	if err == nil {
		return nil
	}
	if known, ok := err.(*sdk.Error); ok { //nolint:errorlint // as this package returns it
		return known
	}
	f := s.Desk.APIErrorOf(err)
	text := cmp.Or(f.Detail, http.StatusText(f.Status))
	if f.Field != "" && !strings.Contains(text, f.Field) {
		text = f.Field + ": " + text
	}
	kind := sdk.ErrInternalError
	switch f.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		kind = sdk.ErrInvalidParams
	case http.StatusNotFound:
		kind = sdk.ErrTaskNotFound
	case http.StatusConflict:
		kind = sdk.ErrUnsupportedOperation
	case http.StatusForbidden:
		kind = sdk.ErrUnauthorized
	}
	return sdk.NewError(kind, text)
}

func invalid(format string, args ...any) error {
	return sdk.NewError(sdk.ErrInvalidParams, fmt.Sprintf(format, args...))
}

func (*handler) GetExtendedAgentCard(context.Context, *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	return nil, sdk.ErrExtendedCardNotConfigured
}
