package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Class is what kind of failure an [Error] is: what to do about it.
type Class string

// The classes.
const (
	Transient   Class = "transient"      // overloaded, 5xx, connection lost, no answer in time: worth trying again
	RateLimited Class = "rate_limited"   // 429: worth trying again after RetryAfter
	Truncated   Class = "truncated"      // the stream ended without its terminal signal: worth trying again
	Unreachable Class = "unreachable"    // no connection at all: refused, no such host
	Auth        Class = "auth"           // 401, 403: the key is missing, wrong or not allowed
	Payment     Class = "payment"        // 402 and exhausted quotas: no use until the account changes
	NotFound    Class = "not_found"      // no such model or route
	TooLong     Class = "context_length" // the request does not fit the model's window
	Filtered    Class = "content_filter" // refused for its content
	BadRequest  Class = "bad_request"    // the provider does not understand the request
	Malformed   Class = "malformed"      // the answer is not what the protocol says
	Cancelled   Class = "cancelled"      // ctx ended
)

// Again reports whether the same request to the same model may well succeed
// later.
func (c Class) Again() bool {
	return c == Transient || c == RateLimited || c == Truncated || c == Unreachable || c == Malformed
}

// An Error is how a request failed. Its text is one line that a user
// understands and never holds a key.
type Error struct {
	Class   Class
	Model   string // full name
	Status  int    // of HTTP, or zero
	Message string // the provider's own words, or what happened; one line
	Advice  string // what the user can do, such as "set ANTHROPIC_API_KEY", or empty

	// RetryAfter is how long the provider asks to wait. Zero: it does not say.
	RetryAfter time.Duration

	// Usage is what the failed attempt used, as far as known: it is billed too.
	Usage Usage

	// Unsent says that no request left this process, so that nothing can have been billed:
	// a gate refused it, or it did not fit.
	Unsent bool

	Err error // the cause, or nil
}

// Error implements error: "anthropic/claude-opus-4-6: key rejected (401): set ANTHROPIC_API_KEY".
func (e *Error) Error() string {
	s := e.Message
	if e.Model != "" {
		s = e.Model + ": " + s
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.RetryAfter >= time.Minute {
		s += ", to be asked again in " + inWords(e.RetryAfter)
	}
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// inWords returns a time to the second, or to the minute if it is long.
func inWords(d time.Duration) string {
	unit := time.Second
	if d >= 10*time.Minute {
		unit = time.Minute
	}
	if d = d.Round(unit); d%time.Minute == 0 {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err: that of the [Error] in it, or Transient for
// any other error.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Transient
}
