package llm

import (
	"errors"
	"time"
)

// An outcome is how a request ended, as far as the gate cares.
type outcome int

const (
	outcomeUnknown outcome = iota // cancelled, or nobody read to the end
	outcomeGood                   // an answer
	outcomeRefused                // the provider is well but not this request: 400, 404, content
	outcomeFailed                 // 5xx, no connection, a broken stream
	outcomeLimited                // 429
	outcomeDenied                 // 401, 402, 403
)

// outcomeOf returns the outcome that err is, nil being a good one.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcomeGood
	}
	switch ClassOf(err) {
	case Transient, Unreachable, Truncated, Malformed:
		return outcomeFailed
	case RateLimited:
		return outcomeLimited
	case Auth, Payment:
		return outcomeDenied
	case Cancelled:
		return outcomeUnknown
	}
	return outcomeRefused
}

// A breaker decides whether requests to one model make sense now. It is a value:
// each decision returns the breaker after it. The zero breaker is closed: it
// lets requests through.
type breaker struct {
	state   breakerState
	until   time.Time // open: when a probe may go
	limited time.Time // when the provider's rate limit is over
	probing bool      // half open: the probe is under way
	why     *Error    // open and denied: what was the reason

	halves [2]tally // of the window; the newer first
	since  time.Time
	used   time.Time // last asked
}

type breakerState int

const (
	breakerClosed breakerState = iota
	breakerOpen                // too many failures; a probe may go after a while
	breakerDenied              // key or account; stays until the configuration changes
)

// A tally counts requests.
type tally struct{ all, failed int }

// An admission is what a breaker says to a request.
type admission struct {
	probe  bool          // the request is the one that finds out
	wait   time.Duration // not before that
	refuse *Error        // not at all
}

// maxLimited bounds how long the gate believes a rate limit's hint.
const maxLimited = time.Hour

// probeWait is when to come back while a probe is under way.
const probeWait = time.Second

// ask decides about a request at now.
func (b breaker) ask(now time.Time) (breaker, admission) {
	b.used = now
	switch {
	case b.state == breakerDenied:
		return b, admission{refuse: b.refusal(0)}
	case b.state == breakerOpen && now.Before(b.until):
		return b, admission{refuse: b.refusal(b.until.Sub(now))}
	case b.state == breakerOpen && b.probing:
		return b, admission{refuse: b.refusal(probeWait)}
	case now.Before(b.limited):
		return b, admission{wait: b.limited.Sub(now)}
	case b.state == breakerOpen:
		b.probing = true
		return b, admission{probe: true}
	}
	return b, admission{}
}

// refusal returns the error of a request that is not made.
func (b breaker) refusal(after time.Duration) *Error {
	e := *b.why
	e.RetryAfter = after
	e.Usage, e.Unsent = Usage{}, true
	if b.state == breakerOpen {
		e.Message = "not asked, for it failed too often just now: " + e.Message
	}
	return &e
}

// done notes how a request ended at now. The error is the cause, if any.
func (b breaker) done(o outcome, e *Error, probe bool, now time.Time, cfg GateConfig) breaker {
	if o == outcomeLimited && e.RetryAfter > 0 {
		if until := now.Add(min(e.RetryAfter, maxLimited)); until.After(b.limited) {
			b.limited = until
		}
	}
	switch {
	case o == outcomeDenied:
		return breaker{state: breakerDenied, why: e, limited: b.limited, used: b.used}
	case b.state == breakerDenied:
		return b
	case probe:
		return b.probed(o, e, now, cfg)
	case b.state == breakerOpen: // begun before it opened
		return b
	}
	return b.count(o, e, now, cfg)
}

// probed notes the end of a probe.
func (b breaker) probed(o outcome, e *Error, now time.Time, cfg GateConfig) breaker {
	if b.state != breakerOpen {
		return b
	}
	b.probing = false
	switch o {
	case outcomeUnknown:
		return b
	case outcomeFailed:
		b.until, b.why = now.Add(cfg.CoolDown), e
		return b
	}
	return breaker{limited: b.limited, used: b.used}
}

// count notes the end of a request while the breaker is closed, and opens it if
// too many of the window have failed.
func (b breaker) count(o outcome, e *Error, now time.Time, cfg GateConfig) breaker {
	if o != outcomeGood && o != outcomeFailed {
		return b
	}
	switch age := now.Sub(b.since); {
	case age >= cfg.Window:
		b.halves, b.since = [2]tally{}, now
	case age >= cfg.Window/2:
		b.halves, b.since = [2]tally{{}, b.halves[0]}, b.since.Add(cfg.Window/2)
	}
	b.halves[0].all++
	if o == outcomeGood {
		return b
	}
	b.halves[0].failed++
	all, failed := b.halves[0].all+b.halves[1].all, b.halves[0].failed+b.halves[1].failed
	if all >= cfg.MinRequests && float64(failed) >= cfg.FailureRate*float64(all) {
		return breaker{state: breakerOpen, until: now.Add(cfg.CoolDown), why: e, limited: b.limited, used: b.used}
	}
	return b
}

// idle reports whether nothing would be lost by forgetting b.
func (b breaker) idle(now time.Time, cfg GateConfig) bool {
	return b.state == breakerClosed && now.After(b.limited) && now.Sub(b.used) > cfg.Window
}

func asError(err error, model string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: ClassOf(err), Model: model, Message: err.Error(), Err: err}
}
