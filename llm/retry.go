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

// Back-off without a hint from the provider: a random part of backoffBase,
// doubled with each failure up to backoffCap.
const (
	backoffBase = 500 * time.Millisecond
	backoffCap  = 8 * time.Second
)

// A Policy says what to do after a model failed. Its zero value suits slow,
// thorough work; FastPolicy suits talking.
type Policy struct {
	// Attempts is how often one model is asked. Zero means 3.
	Attempts int

	// Patience is the longest wait that a provider may ask for before the next
	// model of the chain is asked instead. Zero means SlowPatience.
	Patience time.Duration

	// LastPatience is the longest wait for the end of a rate limit when there is
	// no other model to ask. Zero means 5 minutes.
	LastPatience time.Duration
}

// SlowPatience is the Patience of a policy that names none.
const SlowPatience = time.Minute

// FastPolicy is the policy of what a user waits for: patience of 10 seconds.
func FastPolicy() Policy { return Policy{Patience: 10 * time.Second} }

// A Position is where in a chain of models an action stands.
type Position struct {
	Model int `json:"model"` // index of the model that just failed
	Chain int `json:"chain"` // how many models the chain has
	Fails int `json:"fails"` // how often that model has failed at this action, this time included
}

// A Decision is what to do after a failure.
type Decision struct {
	Again bool          `json:"again"`           // ask again; else give up
	Wait  time.Duration `json:"wait,omitempty"`  // before that
	Model int           `json:"model,omitempty"` // which model of the chain to ask
}

// Next decides what to do after err. It is pure: rnd, from 0 to less than 1, is
// the chance in the back-off, so a decision can be stored and made again.
//
// A failure that another try will not mend (key, account, no such model, too
// long, filtered, not understood) goes to the next model at once; the chain is
// never gone back. Otherwise the same model is asked up to Attempts times, after
// the wait the provider asks for ([Error].RetryAfter, which has all of its ways
// to say so) or after a random back-off. A wait beyond Patience goes to the next
// model instead, and so does what was not sent, for the model is closed for now; on the
// last one that is the end, save that a rate limit is waited out up to LastPatience.
// Cancelled is always the end.
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

// next goes to the next model of the chain, or gives up.
func next(at Position) Decision {
	if at.Model >= at.Chain-1 {
		return Decision{}
	}
	return Decision{Again: true, Model: at.Model + 1}
}

// unsent reports whether no request was made.
func unsent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Unsent
}

// hint returns how long err says to wait, or zero.
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

// Numbers of a [RetryBudget], in thousandths of a retry.
const (
	retryOne   = 1000
	retryShare = retryOne / 10  // what a request earns
	retryFloor = 10 * retryOne  // to begin with, and again each minute
	retryMost  = 100 * retryOne // that can be saved up
)

// A RetryBudget keeps retries from adding to the load of a provider in trouble:
// over time, one request in ten may be a retry. Ten retries a minute are always
// allowed, so that small programs may retry too. The zero value is full. It is
// safe for concurrent use.
type RetryBudget struct {
	mu   sync.Mutex
	debt int64     // retries taken beyond what was earned; negative: saved up
	at   time.Time // of the last Retry
}

// Request notes a request that is no retry.
func (b *RetryBudget) Request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.debt = max(b.debt-retryShare, retryFloor-retryMost)
}

// Retry takes a retry, and reports whether there was one to take.
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
