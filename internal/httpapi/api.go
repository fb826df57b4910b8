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
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
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
