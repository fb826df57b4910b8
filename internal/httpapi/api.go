// Package httpapi is the native API of Ponder: what `ponder serve` answers to programs.
//
// Each group of routes has a file: thinking.go (sessions), threads.go (threads and
// conversations), completions.go (answers as streams of chunks: see internal/dialect/completions), memory.go, mind.go
// and usage.go. A handler checks, asks a fold or an interface of service.go, and
// answers; api.go is what all have in common. huma describes the routes, and binds them to
// requests and answers. Errors are problem documents (RFC 9457)
// that name every field that is wrong. Streams are those of package stream.
package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/completions"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// A Config says what the API is made of. Store, Hub, Guard, Service and Requests are required.
type Config struct {
	Store   ponder.Store
	Hub     *stream.Hub
	Guard   *auth.Guard
	Service Service
	Version string
	Logger  *slog.Logger // one line a request, with ids and without content; slog.Default() if nil

	// Ready says why the server should not be sent work now, or nil.
	Ready func(context.Context) error

	// Calibration, if set, returns what claims of sessions of an owner are worth. It is
	// asked for each session that is shown, so it should be kept for a while.
	Calibration func(ctx context.Context, owner string) session.Calibration

	// Afford, if set, calls do, which lets a session that has cost spent cost most in all, or
	// returns an [Error] if its token does not pay for that.
	Afford func(ctx context.Context, info ponder.Info, spent, most ponder.Money, do func() error) error

	// Requests keep the Idempotency-Keys of requests whose thread does not.
	Requests Requests

	// Seen, if set, is told of each request that was answered: its route as a pattern, the
	// status, and how long it took; zero for a stream.
	Seen func(method, route string, status int, took time.Duration)

	// More are handlers beside those of the API, by pattern, behind the same guard.
	More map[string]http.Handler

	// Refuse, if set, answers requests that the guard refuses, where they are for a handler
	// of More with errors of another shape: it reports whether it did. Headers that belong
	// to the refusal are set.
	Refuse func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool
}

// MaxBody is the size of a request's body, in bytes.
const MaxBody = 8 << 20

// An api is the handlers, and what they share.
type api struct {
	Config
	huma  huma.API
	views *views
	onces onceLock
	gone  context.Context //nolint:containedctx // done when streams must end
}

// New returns the handler of the API. Streams end, after a word to their readers, when
// ctx is done.
func New(ctx context.Context, c Config) http.Handler {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	mux := http.NewServeMux()
	a := &api{Config: c, huma: huma.NewAPI(settings(c.Version), adapter{mux}), views: newViews(c.Store), gone: ctx}
	a.thinking()
	a.threads()
	a.more()
	a.health(mux)
	a.docs(mux)
	for pattern, h := range c.More {
		mux.Handle(pattern, h)
	}
	mux.HandleFunc("/", notThere(mux))
	return a.around(mux)
}

// settings are those of huma. Its own page of documentation would load scripts from
// elsewhere, so docs.go has another.
func settings(version string) huma.Config {
	cfg := huma.DefaultConfig("Ponder", version)
	cfg.CreateHooks = nil // which would add $schema to all bodies
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", ""
	cfg.Transformers = []huma.Transformer{plainly}
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{bearer: {Type: "http", Scheme: "bearer"}}
	cfg.Info.Description = "Deliberate thinking for language models: sessions, research, conversations, memory and a subconscious, on one durable log."
	return cfg
}

// around lets in who may ask, and answers for handlers that fail.
func (a *api) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, seen, caller := time.Now(), &status{ResponseWriter: w}, auth.Caller{}
		id := ponder.NewID("req")
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // it is a value that is panicked with
					panic(p)
				}
				a.Logger.Error("a handler panicked", "request", id, "route", r.Pattern, "panic", p)
				if seen.code == 0 {
					problem(seen, http.StatusInternalServerError, "something is wrong in the server: its log has more, by the id "+id)
				}
			}
			took := time.Since(begun)
			a.Logger.Info("request", "id", id, "method", r.Method, "route", r.Pattern, "status", seen.code, "token", caller.Token, "took", took.Round(time.Microsecond))
			if a.Seen != nil {
				if strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
					took = 0
				}
				a.Seen(r.Method, r.Pattern, seen.code, took)
			}
		}()
		if a.page(seen, r) {
			return
		}
		var refused *auth.Refusal
		if caller, refused = a.Guard.Check(r); refused != nil {
			a.refused(seen, r, refused)
			return
		}
		if refused = takeBody(seen, r); refused != nil {
			a.refused(seen, r, refused)
			return
		}
		r = r.WithContext(auth.With(r.Context(), caller)) // which is told its pattern
		next.ServeHTTP(seen, r)
	})
}

// refused answers a request that is not let in.
func (a *api) refused(w http.ResponseWriter, r *http.Request, why *auth.Refusal) {
	dismiss(w, r)
	if why.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="ponder"`)
	}
	if why.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(why.Retry/time.Second)+1))
	}
	if a.Refuse == nil || !a.Refuse(w, r, why) {
		problem(w, why.Status, why.Detail)
	}
}

// A status notes what was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	if s.code != 0 { // huma writes a second one if the client disconnects
		return
	}
	s.code = code
	if h := s.Header(); code == http.StatusTooManyRequests && h.Get("Retry-After") == "" { // a day's worth, not a pace
		h.Set("Retry-After", strconv.Itoa(int(untilTomorrow(time.Now())/time.Second)+1))
	}
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Write(b []byte) (int, error) {
	s.code = cmp.Or(s.code, http.StatusOK)
	return s.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// health answers whether the server lives, and whether it takes work.
func (a *api) health(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := a.gone.Err()
		if err == nil && a.Ready != nil {
			err = a.Ready(r.Context())
		}
		if err != nil {
			problem(w, http.StatusServiceUnavailable, "not ready: "+textkit.Truncate(textkit.OneLine(err.Error()), 200))
			return
		}
		w.Write([]byte("ok\n"))
	})
}

// owned returns a thread of whoever asks, by its id or by what a client has called it: see
// package completions. A thread of another owner is not there.
func (a *api) owned(ctx context.Context, id string, kinds ...ponder.Kind) (ponder.Info, error) {
	info, err := completions.Find(ctx, a.Store, auth.CallerOf(ctx).Owner, id, kinds...)
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return ponder.Info{}, huma.Error404NotFound("there is no thread " + textkit.Truncate(textkit.OneLine(id), 40))
	case err != nil:
		return ponder.Info{}, a.failed(err)
	}
	return info, nil
}

// The words of package service, which are those of this API.
type (
	Thinker      = app.Thinker
	Talker       = app.Talker
	Rememberer   = app.Rememberer
	Minder       = app.Minder
	Service      = app.Dialects
	Error        = app.Error
	Start        = app.Start
	Fork         = app.Fork
	Conversation = app.Conversation
	Message      = app.Message
	Memory       = app.Memory
	Query        = app.Query
	Hit          = app.Hit
	Document     = app.Document
)

// problem answers with a problem document.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// failed returns what a caller is told of an error: what he can mend in its own words,
// and of others only that something failed, which the log says.
func (a *api) failed(err error) error { return a.failedIn("body", err) }

// failedIn is failed of a request whose fields are in a part of it.
func (a *api) failedIn(part string, err error) error {
	var answered huma.StatusError
	if err == nil || errors.As(err, &answered) {
		return err
	}
	e := app.Public(err)
	if e.Code == app.Internal {
		a.Logger.Error("request failed", "error", err)
	}
	if e.Field == "" {
		return huma.NewError(compat.StatusOf(e.Code), e.Message)
	}
	return huma.NewError(compat.StatusOf(e.Code), e.Message, &huma.ErrorDetail{Message: e.Message, Location: part + "." + e.Field})
}

// more adds the routes of completions, memories, the subconscious and usage.
func (a *api) more() {
	a.completions()
	a.memory()
	a.mind()
	a.usage()
}

// An adapter has the operations of huma on a mux. Bodies have been read: see [takeBody].
type adapter struct{ mux *http.ServeMux }

// ServeHTTP implements [huma.Adapter].
func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// Handle implements [huma.Adapter]. A path is the same with a slash at its end.
func (a adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	op.BodyReadTimeout, op.MaxBodyBytes = -1, MaxBody+1
	serve := func(w http.ResponseWriter, r *http.Request) {
		if op.RequestBody == nil && !emptyOrJSON(r) {
			problem(w, http.StatusBadRequest, "the body is no JSON, and none is needed here: leave it out")
			return
		}
		handler(humago.NewContext(op, r, w))
	}
	pattern := strings.ToUpper(op.Method) + " " + strings.TrimSuffix(op.Path, "/")
	a.mux.HandleFunc(pattern, serve)
	a.mux.HandleFunc(pattern+"/{$}", serve)
}

// emptyOrJSON reports whether the body of a request, which is in memory, has nothing in it
// that is no JSON.
func emptyOrJSON(r *http.Request) bool {
	if !hasBody(r) {
		return true
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil && (len(bytes.TrimSpace(body)) == 0 || json.Valid(body))
}

// Groups of routes.
const (
	tagSessions = "sessions"
	tagThreads  = "threads"
)

// operation returns an operation that needs a scope, with the errors that it may answer
// beside those that all may.
func (a *api) operation(scope auth.Scope, method, path, id, summary, tag string, errs ...int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag},
		Security:    []map[string][]string{{bearer: {}}},
		Errors:      append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}, errs...),
		Middlewares: huma.Middlewares{a.needs(scope)},
	}
}

// bearer is the name of how callers show who they are.
const bearer = "token"

// needs lets only callers on that may do what a scope is for.
func (a *api) needs(scope auth.Scope) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if !auth.CallerOf(ctx.Context()).May(scope) {
			_, w := humago.Unwrap(ctx)
			problem(w, http.StatusForbidden, "this token is not for that: it needs the scope "+string(scope))
			return
		}
		next(ctx)
	}
}

// Bounds of what a problem document repeats of a request.
const (
	maxEchoed = 200 // bytes of a value
	maxWrong  = 50  // violations
)

// plainly is a transformer of huma: problem documents say in their detail what is wrong
// first, and repeat little of what was sent.
func plainly(_ huma.Context, _ string, v any) (any, error) {
	doc, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	short := *doc
	short.Errors = nil
	for _, e := range doc.Errors[:min(len(doc.Errors), maxWrong)] {
		one := *e
		one.Location, one.Message = textkit.Truncate(textkit.OneLine(one.Location), maxEchoed), textkit.Truncate(textkit.OneLine(one.Message), maxEchoed)
		if one.Value = echoed(one.Value); one.Location == "body" {
			one.Value = nil
		}
		short.Errors = append(short.Errors, &one)
	}
	if n := len(short.Errors); n > 0 && short.Detail == "validation failed" {
		first := short.Errors[0]
		short.Detail = cmp.Or(first.Location, "the request") + ": " + first.Message
		if n > 1 {
			short.Detail += ", and " + strconv.Itoa(len(doc.Errors)-1) + " more: see errors"
		}
	}
	return &short, nil
}

// echoed returns a value that was sent, or nil if it is long.
func echoed(v any) any {
	switch v := v.(type) {
	case nil, bool, float64, int, int64:
		return v
	case string:
		return textkit.Truncate(textkit.OneLine(v), maxEchoed)
	}
	return nil
}

// write answers with JSON where a handler may also answer with a stream.
func (a *api) write(ctx huma.Context, status int, body any) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(status)
	if err := a.huma.Marshal(ctx.BodyWriter(), "application/json", body); err != nil {
		a.Logger.Debug("a reader has gone away", "error", err)
	}
}

// refuse answers with an error where a handler writes its answer itself.
func (a *api) refuse(ctx huma.Context, err error) {
	var refused huma.StatusError
	if !errors.As(err, &refused) && !errors.As(a.failed(err), &refused) {
		refused = huma.Error500InternalServerError("something failed in the server")
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(refused.GetStatus())
	doc, err := plainly(ctx, "", refused)
	if err == nil {
		err = a.huma.Marshal(ctx.BodyWriter(), "application/json", doc)
	}
	if err != nil {
		a.Logger.Debug("a reader has gone away", "error", err)
	}
}
