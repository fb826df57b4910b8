package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"ponder/internal/textkit"
	"strings"
	"time"
)

// What a fetch comes to when it comes to nothing. Each is wrapped in one line
// that says more.
var (
	ErrRefused = errors.New("address not allowed")           // it is not public, and the user did not allow it
	ErrURL     = errors.New("not a URL that can be fetched") // its scheme, its host or the way it is written
	ErrRobots  = errors.New("robots.txt does not allow it")  // or could not be read
	ErrTooBig  = errors.New("too big")                       // and of a type that cannot be cut short
	ErrType    = errors.New("not text that can be read")     // its type, or nothing in it
	ErrTime    = errors.New("took too long")                 // headers, a pause, or all of it
	ErrBusy    = errors.New("host wants to be left alone")   // for longer than is worth waiting
	ErrBody    = errors.New("answer is damaged")             // ended early, or cannot be unpacked
	ErrCircle  = errors.New("too many redirects")            // more than ten
)

// A StatusError is an answer other than a page.
type StatusError struct {
	Code  int
	After time.Duration // how long the host wants to be left alone; 0 if it did not say
}

func (e *StatusError) Error() string {
	text := http.StatusText(e.Code)
	text = cmp.Or(text, "unknown status")
	s := fmt.Sprintf("server answered %d (%s)", e.Code, strings.ToLower(text))
	if e.After > 0 {
		s += fmt.Sprintf("; try again in %v", e.After.Round(time.Second))
	}
	return s
}

// errSlow is the cause when the time is up, or nothing came for too long.
type errSlow struct {
	what string
	time.Duration
}

func (e errSlow) Error() string { return fmt.Sprintf("took too long: %s %v", e.what, e.Duration) }
func (e errSlow) Unwrap() error { return ErrTime }

// longest is how much of the words of others is in an error.
const longest = 300

// plainError is an error whose words are of others: one line, without what
// cannot be printed.
type plainError struct {
	says string
	err  error
}

func (e plainError) Error() string { return e.says }
func (e plainError) Unwrap() error { return e.err }

// plain makes one line of an error.
func plain(err error) error { return plainError{textkit.VisibleLine(err.Error(), longest), err} }

// reason returns why an exchange failed: what ended its time, rather than what
// that looked like on the wire.
func reason(ctx context.Context, err error) error {
	var slow errSlow
	if cause := context.Cause(ctx); cause != nil {
		if errors.As(cause, &slow) {
			return slow
		}
		return cause
	}
	return explain(err)
}
