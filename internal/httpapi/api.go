// Package httpapi is the native HTTP API of `ponder serve`.
//
// A handler validates a request, calls package app or a fold of the log, and encodes the result. api.go and
// requests.go have shared code, stream.go event streams, and each other file a group of routes. huma
// describes and binds the routes. Errors are problem documents (RFC 9457) that name all invalid fields.
package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/completions"
	"ponder/internal/eval"
	"ponder/internal/limitio"
	"ponder/internal/locale"
	"ponder/internal/mindlog"
	"ponder/internal/report"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/session"
)

// A Config requires Store, Hub, Guard, Service and Requests. Its functions may be nil.
type Config struct {
	Store   ponder.Store
	Hub     *stream.Hub
	Guard   *auth.Guard
	Service Service
	Version string
	Logger  *slog.Logger // without content; nil: slog.Default()

	// Ready returns why the server is not ready, or nil.
	Ready func(context.Context) error

	// ModelNotes returns lines for /readyz about models, and whether some are unavailable.
	ModelNotes func() (lines []string, degraded bool)

	// Calibration is called for each session of a list, so it should cache.
	Calibration func(ctx context.Context, owner string) session.Calibration

	// Afford calls do, which raises the cost limit of a session to most, of which spent is used. It returns
	// an [Error] if the quota is too low.
	Afford func(ctx context.Context, info ponder.Info, spent, most ponder.Money, do func() error) error

	// Requests has the idempotency keys that threads do not store.
	Requests Requests

	// Memory limits the memory of requests; nil: none in total.
	Memory *limitio.Memory

	// Seen observes each request. The duration of a stream is zero.
	Seen func(method, route string, status int, took time.Duration)

	// App returns the use cases of an owner that need the whole database; nil: none.
	App func(owner string) *app.App

	// Shares has the links to reports; nil: none.
	Shares Shares

	// Print makes a PDF of a report in HTML. It may return an [Error]. nil: none.
	Print func(ctx context.Context, html []byte) ([]byte, error)

	// More has further handlers behind the Guard.
	More map[string]http.Handler

	// Refuse writes a refusal of Guard in the format of a handler in More, with the headers already set. It
	// reports whether it did.
	Refuse func(w http.ResponseWriter, r *http.Request, why *auth.Refusal) bool
}

// MaxBody is in bytes.
const MaxBody = 8 << 20

type api struct {
	Config
	huma     huma.API
	views    *views
	onceLock onceLock
	gone     context.Context //nolint:containedctx // done when streams must end
}

// New returns the handler. When ctx is done, streams send a closing event and end.
func New(ctx context.Context, c Config) http.Handler {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	mux := http.NewServeMux()
	a := &api{Config: c, huma: huma.NewAPI(humaConfig(c.Version), adapter{mux}), views: newViews(c.Store), gone: ctx}
	a.registerThinking()
	a.registerResearch()
	a.registerThreads()
	a.registerMore()
	a.registerHealth(mux)
	a.registerDocs(mux)
	mux.HandleFunc("GET "+sharePath+"{secret}", a.openShare)
	for pattern, h := range c.More {
		mux.Handle(pattern, h)
	}
	mux.HandleFunc("/", notThere(mux))
	return a.wrapHandler(mux)
}

// humaConfig disables the documentation page of huma, which loads external scripts.
func humaConfig(version string) huma.Config {
	cfg := huma.DefaultConfig("Ponder", version)
	cfg.CreateHooks = nil // which add $schema to bodies
	cfg.DocsPath, cfg.SchemasPath, cfg.OpenAPIPath = "", "", ""
	cfg.Transformers = []huma.Transformer{plainErrors}
	cfg.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	cfg.Components.SecuritySchemes = map[string]*huma.SecurityScheme{bearer: {Type: "http", Scheme: "bearer"}}
	cfg.Info.Description = "Deliberate thinking for language models: sessions, research, conversations, memory and a subconscious, on one durable log.\n\n" +
		"Follow [events](#list-events) of a thread or the [stream](#stream-session) of a session. Repeat a request safely with the header `Idempotency-Key`."
	return cfg
}

// schemaName names the schema of a type. Packages with names that others have, too, have a prefix.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[llm.Usage]() {
		return "Model" + name
	}
	switch t.PkgPath() {
	case reflect.TypeFor[report.Comparison]().PkgPath():
		return "Report" + name
	case reflect.TypeFor[mindlog.Reason]().PkgPath():
		return "Mind" + name
	case reflect.TypeFor[eval.Report]().PkgPath():
		return "Eval" + name
	}
	return name
}

func (a *api) wrapHandler(next http.Handler) http.Handler {
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
					writeProblem(seen, http.StatusInternalServerError, "internal error: see the server's log, request "+id)
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
		if a.allowOrigin(seen, r) {
			return
		}
		var refused *auth.Refusal
		if caller, refused = a.Guard.Check(r); refused != nil {
			a.writeRefusal(seen, r, refused)
			return
		}
		if seen.body, refused = takeBody(seen, r, a.Memory); refused != nil {
			a.writeRefusal(seen, r, refused)
			return
		}
		defer seen.releaseBody()
		chosen, err := locale.ReadChoice(r.Header, r.URL.Query())
		if err != nil {
			a.writeRefusal(seen, r, &auth.Refusal{Status: http.StatusBadRequest, Detail: err.Error()})
			return
		}
		ctx := limitio.WithMemory(auth.WithCaller(r.Context(), caller), a.Memory)
		r = r.WithContext(locale.WithChoice(ctx, chosen)) // the mux sets its pattern
		next.ServeHTTP(seen, r)
	})
}

func (a *api) writeRefusal(w http.ResponseWriter, r *http.Request, why *auth.Refusal) {
	discardBody(w, r)
	if why.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="ponder"`)
	}
	if why.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(why.Retry/time.Second)+1))
	}
	if a.Refuse == nil || !a.Refuse(w, r, why) {
		writeProblem(w, why.Status, why.Detail)
	}
}

func (a *api) registerHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := a.gone.Err()
		if err == nil && a.Ready != nil {
			err = a.Ready(r.Context())
		}
		if err != nil {
			writeProblem(w, http.StatusServiceUnavailable, "not ready: "+textkit.Truncate(textkit.OneLine(err.Error()), 200))
			return
		}
		head, notes := "ok", []string(nil)
		if a.ModelNotes != nil {
			var degraded bool
			if notes, degraded = a.ModelNotes(); degraded {
				head = "degraded"
			}
		}
		for _, line := range append([]string{head}, notes...) {
			fmt.Fprintln(w, textkit.Truncate(textkit.OneLine(line), 200))
		}
	})
}

// ownedThread returns a thread of the caller by id or client name.
func (a *api) ownedThread(ctx context.Context, id string, kinds ...ponder.Kind) (ponder.Info, error) {
	info, err := completions.Find(ctx, a.Store, auth.CallerOf(ctx).Owner, id, kinds...)
	switch {
	case errors.Is(err, ponder.ErrNoThread):
		return ponder.Info{}, huma.Error404NotFound("no such thread: " + textkit.Truncate(textkit.OneLine(id), 40))
	case err != nil:
		return ponder.Info{}, a.apiError(err)
	}
	return info, nil
}

type (
	Thinker      = app.Thinker
	Talker       = app.Talker
	Rememberer   = app.Rememberer
	Minder       = app.Minder
	Service      = app.ProtocolService
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

func writeProblem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(huma.ErrorModel{Title: http.StatusText(status), Status: status, Detail: detail})
}

// apiError converts an error. It logs internal errors and hides them.
func (a *api) apiError(err error) error { return a.apiErrorIn("body", err) }

// apiErrorIn is apiError for a part of the request, such as "query".
func (a *api) apiErrorIn(part string, err error) error {
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

func (a *api) registerMore() {
	a.registerAccess()
	a.registerEvidence()
	a.registerEvaluations()
	a.registerLibrary()
	a.registerInbox()
	a.registerModels()
	a.registerSearch()
	a.registerSettings()
	a.registerCompletions()
	a.registerMemory()
	a.registerMind()
	a.registerUsage()
}

// An adapter registers huma operations. Bodies are in memory: see [takeBody].
type adapter struct{ mux *http.ServeMux }

func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// Handle implements [huma.Adapter]. A trailing slash is optional.
func (a adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	op.BodyReadTimeout, op.MaxBodyBytes = -1, -1 // takeBody limits bodies
	serve := func(w http.ResponseWriter, r *http.Request) {
		if op.RequestBody == nil && !emptyOrJSON(r) {
			writeProblem(w, http.StatusBadRequest, "unexpected body: this route takes none; send no body, or JSON")
			return
		}
		limitio.ReadBodyOnce(r)
		handler(humago.NewContext(op, r, w))
	}
	pattern := strings.ToUpper(op.Method) + " " + strings.TrimSuffix(op.Path, "/")
	a.mux.HandleFunc(pattern, serve)
	a.mux.HandleFunc(pattern+"/{$}", serve)
}

// emptyOrJSON reads the body from memory.
func emptyOrJSON(r *http.Request) bool {
	if !hasBody(r) {
		return true
	}
	body, err := limitio.RequestBody(r)
	return err == nil && (len(bytes.TrimSpace(body)) == 0 || json.Valid(body))
}

const (
	tagSessions = "sessions"
	tagThreads  = "threads"
	tagResearch = "research"
)

// newOperation needs a scope. errs are its specific statuses.
func (a *api) newOperation(scope auth.Scope, method, path, id, summary, tag string, errs ...int) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Tags: []string{tag},
		Security:    []map[string][]string{{bearer: {}}},
		Errors:      append([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable}, errs...),
		Middlewares: huma.Middlewares{a.requireScope(scope)},
	}
}

const bearer = "token"

func (a *api) requireScope(scope auth.Scope) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if !auth.CallerOf(ctx.Context()).HasScope(scope) {
			_, w := humago.Unwrap(ctx)
			writeProblem(w, http.StatusForbidden, "this token lacks a scope: use a token with the scope "+string(scope))
			return
		}
		next(ctx)
	}
}

const (
	maxEchoed = 200 // bytes of a value
	maxWrong  = 50  // violations
)

// plainErrors puts the first violation into the detail, and shortens echoed values.
func plainErrors(_ huma.Context, _ string, v any) (any, error) {
	doc, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	short := *doc
	short.Errors = nil
	for _, e := range doc.Errors[:min(len(doc.Errors), maxWrong)] {
		one := *e
		one.Location, one.Message = textkit.Truncate(textkit.OneLine(one.Location), maxEchoed), textkit.Truncate(textkit.OneLine(one.Message), maxEchoed)
		if one.Value = echoedValue(one.Value); one.Location == "body" {
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

func echoedValue(v any) any {
	switch v := v.(type) {
	case nil, bool, float64, int, int64:
		return v
	case string:
		return textkit.Truncate(textkit.OneLine(textkit.Prefix(v, maxEchoed*utf8.UTFMax)), maxEchoed)
	}
	return nil
}

func (a *api) writeJSON(ctx huma.Context, status int, body any) {
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(status)
	if err := a.huma.Marshal(ctx.BodyWriter(), "application/json", body); err != nil {
		a.Logger.Debug("client disconnected", "error", err)
	}
}

// writeError serves handlers that write their own response.
func (a *api) writeError(ctx huma.Context, err error) {
	var refused huma.StatusError
	if !errors.As(err, &refused) && !errors.As(a.apiError(err), &refused) {
		refused = huma.Error500InternalServerError("internal error")
	}
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(refused.GetStatus())
	doc, err := plainErrors(ctx, "", refused)
	if err == nil {
		err = a.huma.Marshal(ctx.BodyWriter(), "application/json", doc)
	}
	if err != nil {
		a.Logger.Debug("client disconnected", "error", err)
	}
}
