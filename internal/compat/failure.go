package compat

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
)

// An APIError is an error for the client.
type APIError struct {
	Status int    // HTTP status, 400 to 599
	Field  string // of the request, or empty
	Detail string

	Code       string        // a code of the protocol, or empty
	Class      llm.Class     // of the failed model call, or empty
	RetryAfter time.Duration // delay before a repeat, or zero
}

func (f *APIError) Error() string { return f.Detail }

// InvalidField returns an APIError with status 400 for field.
func InvalidField(field, format string, args ...any) *APIError {
	return &APIError{Status: http.StatusBadRequest, Field: field, Detail: fmt.Sprintf(format, args...)}
}

// RenameField returns err with another name of its field, for protocols with other names.
func RenameField(err error, from, to string) error {
	var known *APIError
	if !errors.As(err, &known) || known.Field != from {
		return err
	}
	other := *known
	other.Field = to
	return &other
}

// SetRetryAfter sets the header Retry-After.
func (f *APIError) SetRetryAfter(h http.Header) {
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
}

// IsPermanent reports whether the same request would fail again.
func (f *APIError) IsPermanent() bool {
	switch f.Status {
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusInternalServerError:
		return false
	}
	return f.Status <= http.StatusBadGateway
}

// APIErrorOf converts err. It logs internal errors and hides them from the client.
func (d *Dispatcher) APIErrorOf(err error) *APIError {
	var known *APIError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &large):
		return &APIError{Status: http.StatusRequestEntityTooLarge, Detail: fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	}
	e := app.Public(err)
	if e.Code == app.Internal {
		d.logger().Error("request failed", "error", err)
	}
	f := &APIError{Status: StatusOf(e.Code), Field: e.Field, Detail: e.Message}
	if f.Field == "model_id" {
		f.Field = "model"
	}
	var refused *llm.Error
	if e.Code == app.Unavailable && errors.As(err, &refused) {
		f.setClass(refused.Class, refused.RetryAfter)
	}
	return f
}

// defaultRetryAfter is the delay after a rate limit without a time.
const defaultRetryAfter = 10 * time.Second

// setClass sets the status of a failed model call. A failure that only the operator can mend has
// the status 502, as the client's own key is valid.
func (f *APIError) setClass(class llm.Class, after time.Duration) {
	f.Class, f.Status = class, http.StatusBadGateway
	switch class {
	case llm.TooLong, llm.Filtered, llm.BadRequest:
		f.Status = http.StatusBadRequest
	case llm.Payment:
		f.Status = http.StatusPaymentRequired
	case llm.RateLimited:
		f.Status, f.RetryAfter = http.StatusTooManyRequests, max(after, 0)
		if f.RetryAfter == 0 {
			f.RetryAfter = defaultRetryAfter
		}
	case llm.Transient, llm.Unreachable:
		f.Status, f.RetryAfter = http.StatusServiceUnavailable, max(after, 0)
	}
}

// APIError returns the error of a failed work, or nil.
func (e End) APIError() *APIError {
	if e.Status == ponder.Completed {
		return nil
	}
	f := &APIError{Detail: e.Reason}
	after := time.Duration(0)
	if !e.NotBefore.IsZero() {
		after = time.Until(e.NotBefore)
	}
	if f.setClass(e.ErrorClass, after); f.Status == http.StatusBadRequest {
		f.Field = "messages"
	}
	return f
}
