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

// Back-off without a hint from the provider: a random fraction of backoffBase, which
// doubles with each failure up to backoffCap.
const (
	backoffBase = 500 * time.Millisecond
	backoffCap  = 8 * time.Second
)

// A Policy decides what to do after a model failed. The zero value suits background work;
// see [FastPolicy].
type Policy struct {
	// Attempts is the number of requests to one model. Zero means 3.
	Attempts int

	// Patience is the longest wait before the policy moves to the next model. Zero means
	// SlowPatience.
	Patience time.Duration

	// LastPatience is the longest wait for the end of the last model's rate limit. Zero
	// means 5 minutes.
	LastPatience time.Duration
}

const SlowPatience = time.Minute

// FastPolicy returns the policy for interactive requests: a patience of 10 seconds.
func FastPolicy() Policy { return Policy{Patience: 10 * time.Second} }

// A Position is an action's position in a chain of models.
type Position struct {
	Model int `json:"model"` // the model that failed
	Chain int `json:"chain"` // length of the chain
	Fails int `json:"fails"` // failures of that model at this action, this one included
}

type Decision struct {
	Again bool          `json:"again"`           // send another request; false gives up
	Wait  time.Duration `json:"wait,omitempty"`  // before the request
	Model int           `json:"model,omitempty"` // index in the chain
}

// Next decides what to do after err. It is a pure function: rnd, in [0, 1), is the
// randomness of the back-off.
//
// Permanent failures (key, account, model, length, filter, bad request) move to the next
// model at once, never back. Others repeat the request up to Attempts times, after
// [Error].RetryAfter or a random back-off. A wait beyond Patience or an unsent request
// moves to the next model, if there is one. On the last model, a wait beyond Patience
// ends the chain, but a rate limit may last up to LastPatience. Cancelled always ends it.
func (p Policy) Next(err error, at Position, rnd float64) Decision {
	attempts := max(1, cmp.Or(p.Attempts, 3))
	patience := cmp.Or(p.Patience, SlowPatience)
	class := ClassOf(err)
	last := at.Model >= at.Chain-1
	switch {
	case class == Cancelled:
		return Decision{}
	case !class.Again() || at.Fails >= attempts || !last && unsent(err):
		return next(at)
	}
	wait := hint(err)
	if wait == 0 {
		wait = backoff(at.Fails, rnd)
	}
	if last && class == RateLimited {
		patience = max(patience, cmp.Or(p.LastPatience, 5*time.Minute))
	}
	if wait > patience {
		return next(at)
	}
	return Decision{Again: true, Wait: wait, Model: at.Model}
}

func next(at Position) Decision {
	if at.Model >= at.Chain-1 {
		return Decision{}
	}
	return Decision{Again: true, Model: at.Model + 1}
}

// unsent reports whether no request was sent.
func unsent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unsent
}

// hint returns err's RetryAfter, or zero.
func hint(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return max(0, e.RetryAfter)
	}
	return 0
}

// backoff returns the wait after the nth failure, with full jitter.
func backoff(n int, rnd float64) time.Duration {
	most := backoffCap
	if shift := max(0, n-1); shift < 16 {
		most = min(most, backoffBase<<shift)
	}
	if !(rnd >= 0) { // NaN too
		rnd = 0
	}
	return time.Duration(math.Min(rnd, 1) * float64(most))
}

// Units of a [RetryBudget]: thousandths of a retry.
const (
	retryOne   = 1000
	retryShare = retryOne / 10  // earned by a request
	retryFloor = 10 * retryOne  // initially, and again each minute
	retryMost  = 100 * retryOne // maximum saved
)

// A RetryBudget limits retries, so that they do not overload a failing provider: over
// time to one in ten requests. It always allows ten a minute for small programs. The zero
// value is full. It is safe for concurrent use.
type RetryBudget struct {
	mu   sync.Mutex
	debt int64     // retries beyond the earned ones; negative: saved
	at   time.Time // of the last Retry
}

// Request counts a request that is no retry.
func (b *RetryBudget) Request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.debt = max(b.debt-retryShare, retryFloor-retryMost)
}

// Retry spends a retry, if there is one.
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
	Truncated   Class = "truncated"      // the stream ended without its terminal event: retry
	Unreachable Class = "unreachable"    // no connection: refused, unknown host
	Auth        Class = "auth"           // 401, 403: the key is missing, invalid or not permitted
	Payment     Class = "payment"        // 402 and exhausted quotas: permanent until the account changes
	NotFound    Class = "not_found"      // no such model or route
	TooLong     Class = "context_length" // the request exceeds the context window
	Filtered    Class = "content_filter" // refused for its content
	BadRequest  Class = "bad_request"    // the provider rejects the request as invalid
	Malformed   Class = "malformed"      // the answer violates the protocol
	Cancelled   Class = "cancelled"      // ctx ended
)

// Again reports whether the same request may succeed later.
func (c Class) Again() bool {
	return c == Transient || c == RateLimited || c == Truncated || c == Unreachable || c == Malformed
}

// An Error describes a failed request. Its text is one line for users and never contains
// a key.
type Error struct {
	Class   Class
	Model   string // full name
	Status  int    // HTTP status, or zero
	Message string // one line: the provider's message, or a description
	Advice  string // remedy, such as "set ANTHROPIC_API_KEY", or empty

	// RetryAfter is the delay that the provider asks for, or zero.
	RetryAfter time.Duration

	// Usage is the failed attempt's usage, as far as known; it is billed.
	Usage Usage

	// Unsent reports that no request left this process, so that nothing can be billed.
	Unsent bool

	Err error
}

// Error returns text such as "anthropic/claude-opus-4-6: key rejected (401): set
// ANTHROPIC_API_KEY".
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

// inWords rounds d to seconds, or from 10 minutes on to minutes.
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

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of the [Error] in err, or Transient.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Transient
}
