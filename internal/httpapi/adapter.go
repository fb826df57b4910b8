package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"ponder/internal/auth"
	"ponder/internal/textkit"
)

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
