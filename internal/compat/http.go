package compat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/llm"
)

// A Fault is why a request is not answered, as far as its client is told. Each language
// has a form of its own for it.
type Fault struct {
	Status int    // of HTTP, 400 to 599
	Field  string // of the request, or empty
	Detail string // a sentence
}

func (f *Fault) Error() string { return f.Detail }

// Wrong returns the fault of a field that a client can mend.
func Wrong(field, format string, args ...any) *Fault {
	return &Fault{http.StatusBadRequest, field, fmt.Sprintf(format, args...)}
}

// FaultOf returns what a client is told of an error: what it can mend in its own words,
// and of others only that something failed, which the log says.
func (d *Desk) FaultOf(err error) *Fault {
	var known *app.Error
	var told *Fault
	var refused *llm.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &known):
		return &Fault{known.Status, known.Field, known.Detail}
	case errors.As(err, &large):
		return &Fault{http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	case errors.Is(err, ponder.ErrNoThread), errors.Is(err, ponder.ErrNoEvent), errors.Is(err, ponder.ErrNoRun):
		return &Fault{http.StatusNotFound, "", "it is not there any more"}
	case errors.Is(err, ponder.ErrEnded):
		return &Fault{http.StatusConflict, "", "it has ended"}
	case errors.Is(err, ponder.ErrFull), errors.Is(err, ponder.ErrReadOnly):
		return &Fault{http.StatusInsufficientStorage, "", "the database cannot be written to now: free some space, or make it writable"}
	case errors.Is(err, ponder.ErrDamaged):
		return &Fault{http.StatusInternalServerError, "", "the database is damaged: restore a backup of it"}
	case errors.Is(err, app.ErrNotReady), errors.As(err, &refused):
		return &Fault{http.StatusServiceUnavailable, "", Clip(Plain(err.Error()), maxWhy)}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Fault{http.StatusServiceUnavailable, "", "the server stops, or was too slow: try again"}
	}
	d.log().Error("request failed", "error", err)
	return &Fault{http.StatusInternalServerError, "", "something failed in the server: its log says what"}
}

// Read reads the body of a request, which is JSON, into a value. Fields that the value
// does not have are ignored, as clients send them. It returns the body, and a [Fault].
func Read(r *http.Request, into any) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var syntax *json.SyntaxError
	var misfit *json.UnmarshalTypeError
	switch err := json.Unmarshal(body, into); {
	case errors.As(err, &syntax):
		return nil, Wrong("", "the body is not JSON: %s, at byte %d", syntax.Error(), syntax.Offset)
	case errors.As(err, &misfit):
		return nil, Wrong(misfit.Field, "%s: expected %s, not %s", misfit.Field, misfit.Type, misfit.Value)
	case err != nil:
		return nil, Wrong("", "the body cannot be read: %s", Clip(Plain(err.Error()), maxWhy))
	}
	return body, nil
}

// May refuses a caller whose token is not for what is asked, and returns the owner.
func May(r *http.Request, s auth.Scope) (owner string, err error) {
	c := auth.CallerOf(r.Context())
	if !c.May(s) {
		return "", &Fault{http.StatusForbidden, "", "this token is not for that: it needs the scope " + string(s)}
	}
	return c.Owner, nil
}

// A Handler answers for an owner. An error before anything was written is told the client.
type Handler func(w http.ResponseWriter, r *http.Request, owner string) error

// Handle returns a handler that checks what the caller may do, and has refuse tell errors
// in the form of its language.
func (d *Desk) Handle(s auth.Scope, h Handler, refuse func(http.ResponseWriter, *Fault)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, err := May(r, s)
		if err == nil {
			err = h(w, r, owner)
		}
		if err != nil {
			refuse(w, d.FaultOf(err))
		}
	})
}
