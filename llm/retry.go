package llm

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// Back-off without a hint is a random part of backoffBase, doubled each time up to
// backoffCap.
const (
	backoffBase = 500 * time.Millisecond
	backoffCap  = 8 * time.Second
)

// A Policy decides how to proceed after a failure. Zero suits background work; see
// [FastPolicy].
type Policy struct {
	// Attempts limits requests to one model. Zero means 3.
	Attempts int

	// Patience limits a wait before the next model is used. Zero means SlowPatience.
	Patience time.Duration

	// LastPatience limits a wait for the last model's rate limit. Zero means 5 minutes.
	LastPatience time.Duration
}

const SlowPatience = time.Minute

// FastPolicy returns the policy for interactive requests, with a Patience of 10 seconds.
func FastPolicy() Policy { return Policy{Patience: 10 * time.Second} }

// A Position is an action's position in a chain of models.
type Position struct {
	Model int `json:"model"` // failed
	Chain int `json:"chain"`
	Fails int `json:"fails"` // of that model at this action
}

// A Decision is the next step after a failure.
type Decision struct {
	Retry bool          `json:"again"`           // or give up
	Wait  time.Duration `json:"wait,omitempty"`  // before the request
	Model int           `json:"model,omitempty"` // index in the chain
}

// Next is pure: rnd, in [0, 1), randomizes the back-off.
//
// Permanent failures (key, account, model, length, filter, bad request) move to the next
// model, never back. Others repeat up to Attempts times, after [Error].RetryAfter or a
// back-off. A wait beyond Patience or an unsent request also moves on. After the last
// model there is nothing left: an unsent request is repeated, a rate limit may last
// LastPatience, and the rest gives up. Cancelled always gives up.
func (p Policy) Next(err error, at Position, rnd float64) Decision {
	attempts := max(1, cmp.Or(p.Attempts, 3))
	patience := cmp.Or(p.Patience, SlowPatience)
	class := ClassOf(err)
	last := at.Model >= at.Chain-1
	switch {
	case class == Cancelled:
		return Decision{}
	case !class.Retryable() || at.Fails >= attempts || !last && isUnsent(err):
		return nextModel(at)
	}
	wait := retryAfter(err)
	if wait == 0 {
		wait = backoffDelay(at.Fails, rnd)
	}
	if last && class == RateLimited {
		patience = max(patience, cmp.Or(p.LastPatience, 5*time.Minute))
	}
	if wait > patience {
		return nextModel(at)
	}
	return Decision{Retry: true, Wait: wait, Model: at.Model}
}

func nextModel(at Position) Decision {
	if at.Model >= at.Chain-1 {
		return Decision{}
	}
	return Decision{Retry: true, Model: at.Model + 1}
}

func isUnsent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unsent
}

func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return max(0, e.RetryAfter)
	}
	return 0
}

// backoffDelay uses full jitter.
func backoffDelay(n int, rnd float64) time.Duration {
	limit := backoffCap
	if shift := max(0, n-1); shift < 16 {
		limit = min(limit, backoffBase<<shift)
	}
	if !(rnd >= 0) { // NaN too
		rnd = 0
	}
	return time.Duration(math.Min(rnd, 1) * float64(limit))
}

// In thousandths of a retry.
const (
	retryOne        = 1000
	retryShare      = retryOne / 10  // per request
	retryFloor      = 10 * retryOne  // initially and each minute
	maxSavedRetries = 100 * retryOne // maximum saved
)

// A RetryBudget limits retries to one in ten requests, so that they do not overload a
// failing provider. Ten a minute are always allowed. The zero value is full. It is safe
// for concurrent use.
type RetryBudget struct {
	mu   sync.Mutex
	debt int64     // negative: saved
	at   time.Time // of the last Retry
}

// Request counts a request that is no retry.
func (b *RetryBudget) Request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.debt = max(b.debt-retryShare, retryFloor-maxSavedRetries)
}

// Retry spends a retry, if any.
func (b *RetryBudget) Retry() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	earned := int64(retryFloor * min(1, now.Sub(b.at).Minutes()))
	if b.debt <= 0 || earned > 0 {
		b.debt, b.at = min(b.debt, max(0, b.debt-earned)), now
	}
	if b.debt+retryOne > retryFloor {
		return false
	}
	b.debt += retryOne
	return true
}

// A Class is the kind of an [Error].
type Class string

const (
	Transient   Class = "transient"      // overloaded, 5xx, connection lost, timeout: retry
	RateLimited Class = "rate_limited"   // 429: retry after RetryAfter
	Truncated   Class = "truncated"      // no terminal event: retry
	Unreachable Class = "unreachable"    // no connection: refused, unknown host
	Auth        Class = "auth"           // 401, 403: key missing, invalid or not permitted
	Payment     Class = "payment"        // 402, exhausted quota: permanent
	NotFound    Class = "not_found"      // no such model or route
	TooLong     Class = "context_length" // exceeds the context window
	Filtered    Class = "content_filter" // refused for its content
	BadRequest  Class = "bad_request"    // rejected as invalid
	Malformed   Class = "malformed"      // violates the protocol
	Cancelled   Class = "cancelled"      // ctx ended
)

// Retryable reports whether the same request may succeed later.
func (c Class) Retryable() bool {
	return c == Transient || c == RateLimited || c == Truncated || c == Unreachable || c == Malformed
}

// TooLongAdvice is the remedy of class TooLong.
const TooLongAdvice = "give it less to read, or use a model with a larger context"

// An Error describes a failed request in one line, without keys.
type Error struct {
	Class   Class
	Model   string // full name
	Status  int    // HTTP, or zero
	Message string // one line
	Advice  string // such as "set ANTHROPIC_API_KEY"

	// RetryAfter is the requested delay, or zero.
	RetryAfter time.Duration

	// Usage is the attempt's known usage, which is billed.
	Usage Usage

	// Limits are the token limits that a refusal names.
	Limits Limits

	// OfRequest means that the refusal depends on this request: others may succeed.
	OfRequest bool

	// Room is how many bytes a request may have, if this one is too long; see [Request.Size].
	// Zero is unknown.
	Room int

	// Unsent means that nothing was sent or billed.
	Unsent bool

	Err error
}

// Error returns "anthropic/claude-opus-4-6: key rejected (401): set ANTHROPIC_API_KEY".
func (e *Error) Error() string {
	s := e.Message
	if e.Model != "" {
		s = e.Model + ": " + s
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	if e.RetryAfter >= time.Minute {
		s += ", retry in " + formatDuration(e.RetryAfter)
	}
	if e.Advice != "" {
		s += ": " + e.Advice
	}
	return s
}

// formatDuration rounds to seconds, or to minutes from 10 minutes on.
func formatDuration(d time.Duration) string {
	unit := time.Second
	if d >= 10*time.Minute {
		unit = time.Minute
	}
	if d = d.Round(unit); d%time.Minute == 0 {
		return strings.TrimSuffix(d.String(), "0s")
	}
	return d.String()
}

func (e *Error) Unwrap() error { return e.Err }

// UsageOf returns the usage of the [Error] in err, or zero.
func UsageOf(err error) Usage {
	var e *Error
	if errors.As(err, &e) {
		return e.Usage
	}
	return Usage{}
}

// ClassOf returns the class of the [Error] in err, or Transient.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Transient
}
