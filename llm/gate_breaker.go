package llm

import (
	"errors"
	"time"
)

type outcome int

const (
	outcomeUnknown outcome = iota // cancelled or abandoned
	outcomeGood
	outcomeRefused // works but rejects this request: 400, 404, content
	outcomeFailed  // 5xx, no connection, a broken stream
	outcomeLimited
	outcomeDenied
)

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

// A breaker decides whether to send requests to one model. It is a value: each decision
// returns the next breaker. Zero is closed.
type breaker struct {
	state   breakerState
	until   time.Time // open: time of the next probe
	limited time.Time // end of the provider's rate limit
	probing bool      // half open
	cause   *Error

	windowHalves [2]outcomeCount // of the window, newer first
	since        time.Time
	lastUsed     time.Time
}

type breakerState int

const (
	breakerClosed breakerState = iota
	breakerOpen                // admits a probe after until
	breakerDenied              // until the configuration changes
)

type outcomeCount struct{ all, failed int }

type admission struct {
	probe   bool          // the request is the probe
	wait    time.Duration // before the next ask
	refusal *Error
}

// maxLimited caps a rate limit's hint.
const maxLimited = time.Hour

// probeWait is the retry delay during a probe.
const probeWait = time.Second

func (b breaker) checkAdmission(now time.Time) (breaker, admission) {
	b.lastUsed = now
	switch {
	case b.state == breakerDenied:
		return b, admission{refusal: b.refusalError(0)}
	case b.state == breakerOpen && now.Before(b.until):
		return b, admission{refusal: b.refusalError(b.until.Sub(now))}
	case b.state == breakerOpen && b.probing:
		return b, admission{refusal: b.refusalError(probeWait)}
	case now.Before(b.limited):
		return b, admission{wait: b.limited.Sub(now)}
	case b.state == breakerOpen:
		b.probing = true
		return b, admission{probe: true}
	}
	return b, admission{}
}

func (b breaker) refusalError(after time.Duration) *Error {
	e := *b.cause
	e.RetryAfter = after
	e.Usage, e.Unsent = Usage{}, true
	if b.state == breakerOpen {
		e.Message = "not sent: the model failed too often just now: " + e.Message
	}
	return &e
}

// recordOutcome records an outcome; e is the cause, or nil.
func (b breaker) recordOutcome(o outcome, e *Error, probe bool, now time.Time, cfg GateConfig) breaker {
	if o == outcomeLimited && e.RetryAfter > 0 {
		if until := now.Add(min(e.RetryAfter, maxLimited)); until.After(b.limited) {
			b.limited = until
		}
	}
	switch {
	case o == outcomeDenied:
		return breaker{state: breakerDenied, cause: e, limited: b.limited, lastUsed: b.lastUsed}
	case b.state == breakerDenied:
		return b
	case probe:
		return b.recordProbe(o, e, now, cfg)
	case b.state == breakerOpen: // sent before the breaker opened
		return b
	}
	return b.countOutcome(o, e, now, cfg)
}

func (b breaker) recordProbe(o outcome, e *Error, now time.Time, cfg GateConfig) breaker {
	if b.state != breakerOpen {
		return b
	}
	b.probing = false
	switch o {
	case outcomeUnknown:
		return b
	case outcomeFailed:
		b.until, b.cause = now.Add(cfg.CoolDown), e
		return b
	}
	return breaker{limited: b.limited, lastUsed: b.lastUsed}
}

// countOutcome opens the breaker if too many requests failed.
func (b breaker) countOutcome(o outcome, e *Error, now time.Time, cfg GateConfig) breaker {
	if o != outcomeGood && o != outcomeFailed {
		return b
	}
	switch age := now.Sub(b.since); {
	case age >= cfg.Window:
		b.windowHalves, b.since = [2]outcomeCount{}, now
	case age >= cfg.Window/2:
		b.windowHalves, b.since = [2]outcomeCount{{}, b.windowHalves[0]}, b.since.Add(cfg.Window/2)
	}
	b.windowHalves[0].all++
	if o == outcomeGood {
		return b
	}
	b.windowHalves[0].failed++
	all, failed := b.windowHalves[0].all+b.windowHalves[1].all, b.windowHalves[0].failed+b.windowHalves[1].failed
	if all >= cfg.MinRequests && float64(failed) >= cfg.FailureRate*float64(all) {
		return breaker{state: breakerOpen, until: now.Add(cfg.CoolDown), cause: e, limited: b.limited, lastUsed: b.lastUsed}
	}
	return b
}

func (b breaker) isIdle(now time.Time, cfg GateConfig) bool {
	return b.state == breakerClosed && now.After(b.limited) && now.Sub(b.lastUsed) > cfg.Window
}

func asError(err error, model string) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: ClassOf(err), Model: model, Message: err.Error(), Err: err}
}
