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
	var e *Error
	if errors.As(err, &e) && e.OfRequest {
		return outcomeRefused
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
//
// A refused key or account makes a closed breaker suspect: one request at a time tests it,
// and the others wait for the result. Any answer closes the breaker. The refusal of
// maxRefusals requests in a row denies the model: until the next probe, requests fail with
// the refusal. Each refused probe doubles the delay until the next one.
type breaker struct {
	state    breakerState
	until    time.Time // time of the next probe
	limited  time.Time // end of the provider's rate limit
	probing  bool
	refusals int // in a row: suspect, denied
	cause    *Error

	windowHalves [2]outcomeCount // of the window, newer first
	since        time.Time
	lastUsed     time.Time
}

type breakerState int

const (
	breakerClosed  breakerState = iota
	breakerOpen                 // failures; admits a probe after until
	breakerSuspect              // refused; admits a probe, and another after until
	breakerDenied               // refused repeatedly; admits a probe after until
)

const (
	maxRefusals = 3               // in a row, until a model is denied
	suspectTime = 5 * time.Second // longest wait for a probe of a suspect model
	denialBase  = 5 * time.Second // first delay until a denied model is probed
	denialCap   = 5 * time.Minute // longest one
)

// denialDelay returns the delay after the refusals in a row, of which a random half is jitter.
func denialDelay(refusals int, rnd float64) time.Duration {
	d := denialCap
	if shift := max(0, refusals-maxRefusals); shift < 10 {
		d = min(d, denialBase<<shift)
	}
	return d/2 + time.Duration(rnd*float64(d/2))
}

type outcomeCount struct{ all, failed int }

type admission struct {
	probe   bool          // the request is the probe
	suspect bool          // wait for the result of the probe, at most wait
	wait    time.Duration // before the next ask
	refusal *Error
}

// maxLimited caps a rate limit's hint.
const maxLimited = time.Hour

// probeWait is the retry delay during a probe.
const probeWait = time.Second

func (b breaker) checkAdmission(now time.Time) (breaker, admission) {
	b.lastUsed = now
	early := now.Before(b.until)
	switch {
	case b.state == breakerClosed && !now.Before(b.limited):
		return b, admission{}
	case b.state == breakerSuspect && b.probing && early:
		return b, admission{suspect: true, wait: b.until.Sub(now)}
	case (b.state == breakerOpen || b.state == breakerDenied) && early:
		return b, admission{refusal: b.refusalError(b.until.Sub(now))}
	case (b.state == breakerOpen || b.state == breakerDenied) && b.probing:
		return b, admission{refusal: b.refusalError(probeWait)}
	case now.Before(b.limited):
		return b, admission{wait: b.limited.Sub(now)}
	}
	b.probing = true
	if b.state == breakerSuspect {
		b.until = now.Add(suspectTime)
	}
	return b, admission{probe: true}
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

// A verdict is the outcome of a request.
type verdict struct {
	outcome
	err   *Error // the cause, or nil
	probe bool
	at    time.Time
	rnd   float64 // in [0, 1), for jitter
}

func (b breaker) recordOutcome(v verdict, cfg GateConfig) breaker {
	if v.outcome == outcomeLimited && v.err.RetryAfter > 0 {
		if until := v.at.Add(min(v.err.RetryAfter, maxLimited)); until.After(b.limited) {
			b.limited = until
		}
	}
	closed := breaker{limited: b.limited, lastUsed: b.lastUsed}
	refused := b.state == breakerSuspect || b.state == breakerDenied
	switch {
	case v.outcome == outcomeDenied && (!refused || v.probe):
		return b.recordRefusal(v)
	case refused && v.outcome == outcomeGood:
		return closed
	case b.state == breakerClosed:
		return b.countOutcome(v.outcome, v.err, v.at, cfg)
	case !v.probe: // sent before the breaker opened
		return b
	}
	b.probing = false
	switch {
	case v.outcome == outcomeUnknown:
		return b
	case v.outcome != outcomeFailed: // the key works, although this request does not
		return closed
	case b.state == breakerOpen:
		b.until, b.cause = v.at.Add(cfg.CoolDown), v.err
		return b
	case b.state == breakerDenied:
		b.until = v.at.Add(denialDelay(b.refusals, v.rnd))
		return b
	}
	return closed.countOutcome(v.outcome, v.err, v.at, cfg)
}

// recordRefusal counts a refused key or account.
func (b breaker) recordRefusal(v verdict) breaker {
	after := breaker{state: breakerSuspect, refusals: 1, cause: v.err, limited: b.limited, lastUsed: b.lastUsed}
	if b.state == breakerSuspect || b.state == breakerDenied {
		after.refusals += b.refusals
	}
	if after.refusals >= maxRefusals {
		after.state = breakerDenied
		after.until = v.at.Add(max(denialDelay(after.refusals, v.rnd), min(v.err.RetryAfter, denialCap)))
	}
	return after
}

// admitProbe makes a denied model suspect, so that the next request is its probe.
func (b breaker) admitProbe() breaker {
	if b.state == breakerDenied && !b.probing {
		b.state, b.refusals = breakerSuspect, maxRefusals-1
	}
	return b
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
