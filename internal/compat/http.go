package compat

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/textkit"
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
	var told *Fault
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &large):
		return &Fault{http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	}
	e := app.Public(err)
	if e.Code == app.Internal {
		d.log().Error("request failed", "error", err)
	}
	field := e.Field
	if field == "model_id" {
		field = "model"
	}
	return &Fault{StatusOf(e.Code), field, e.Message}
}

// StatusOf returns the status of HTTP for an error of a code.
func StatusOf(c app.Code) int { return cmp.Or(statuses[c], http.StatusInternalServerError) }

var statuses = map[app.Code]int{
	app.Invalid: http.StatusUnprocessableEntity, app.NotFound: http.StatusNotFound, app.Conflict: http.StatusConflict,
	app.NotReady: http.StatusServiceUnavailable, app.Unavailable: http.StatusServiceUnavailable, app.Canceled: http.StatusServiceUnavailable,
	app.Limit: http.StatusTooManyRequests, app.OverBudget: http.StatusPaymentRequired, app.Storage: http.StatusInsufficientStorage,
	app.Incomplete: http.StatusConflict,
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
		return nil, Wrong("", "the body cannot be read: %s", textkit.TruncateBytes(Plain(err.Error()), maxWhy))
	}
	return body, nil
}

// Reply answers with JSON. It returns nil, for a [Handler] that ends with it.
func Reply(w http.ResponseWriter, status int, body any) error {
	if h := w.Header(); h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that disconnected needs none
	return nil
}

// TextsOf reads the input of embeddings: a text, or a list of texts.
func TextsOf(js json.RawMessage) (list []string, err error) {
	var one string
	if json.Unmarshal(js, &one) == nil {
		return []string{one}, nil
	}
	if json.Unmarshal(js, &list) != nil {
		return nil, Wrong("input", "input: expected a text or a list of texts")
	}
	return list, nil
}

// MediaAt reads an address of a file: of the web, or one that is the data itself, which has
// a type.
func MediaAt(address string) (m llm.Media, ok bool) {
	if head, data, ok := strings.Cut(address, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		bytes, err := base64.StdEncoding.DecodeString(data)
		if err == nil && len(bytes) > 0 {
			return llm.Media{Type: strings.TrimPrefix(head, "data:"), Data: bytes}, true
		}
	}
	return llm.Media{URL: address}, IsPublic(address)
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
