package wire

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ponder/llm"
)

const (
	maxRetryAfter = 24 * time.Hour

	// minNoRetry is the minimum delay if a provider asks for no retry. It exceeds every
	// default patience in [llm.Policy], so that callers use another model.
	minNoRetry = 6 * time.Minute
)

// RetryAfter returns the requested delay, at most a day, or zero. It reads
// retry-after-ms, Retry-After, Google's retryDelay, and "try again in". With
// x-should-retry false it is at least six minutes.
func RetryAfter(header http.Header, body []byte, now time.Time) time.Duration {
	d := requestedDelay(header, body, now)
	if strings.EqualFold(header.Get("x-should-retry"), "false") {
		d = max(d, minNoRetry)
	}
	return min(max(d, 0), maxRetryAfter)
}

func requestedDelay(header http.Header, body []byte, now time.Time) time.Duration {
	if d := parseAmount(header.Get("retry-after-ms"), time.Millisecond); d > 0 {
		return d
	}
	after := strings.TrimSpace(header.Get("Retry-After"))
	if d := parseAmount(strings.TrimSuffix(after, "s"), time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(after); err == nil {
		return at.Sub(now)
	}
	body = bytes.ToLower(body)
	for _, mark := range []string{"retrydelay", "try again in ", "retry in "} {
		if d := delayAfter(body, mark); d > 0 {
			return d
		}
	}
	return 0
}

func parseAmount(s string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	return time.Duration(min(f*float64(unit), float64(maxRetryAfter)))
}

// delayAfter parses the duration after mark in a lower-case body.
func delayAfter(body []byte, mark string) time.Duration {
	_, rest, ok := bytes.Cut(body, []byte(mark))
	if !ok {
		return 0
	}
	return parseDuration(strings.TrimLeft(string(rest[:min(len(rest), 64)]), "\\\": \t\r\n{second"))
}

// parseDuration parses 53s, 1.5s, 200ms, 6m0s, 2 minutes, 1 hour 30 minutes; bare numbers are
// seconds. It expects lower case.
func parseDuration(s string) (d time.Duration) {
	for first := true; ; first = false {
		n := leadingLen(s, "0123456789.")
		number := strings.TrimRight(s[:n], ".")
		s = strings.TrimLeft(s[n:], " ")
		n = leadingLen(s, "abcdefghijklmnopqrstuvwxyz")
		unit, ok := units[s[:n]]
		if first && n == 0 {
			return parseAmount(number, time.Second)
		}
		if !ok || number == "" {
			return d
		}
		d = min(d+parseAmount(number, unit), maxRetryAfter)
		s = strings.TrimLeft(s[n:], " ")
	}
}

var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"day": 24 * time.Hour, "days": 24 * time.Hour,
}

func leadingLen(s, some string) int { return len(s) - len(strings.TrimLeft(s, some)) }

// A rateHeader names one limit's headers, in canonical form.
type rateHeader struct {
	left  string
	reset string
	limit string // of a steady limit; reset is the time until full
	token bool
}

// rateHeaders has headers from documentation and observed answers.
var rateHeaders = [...]rateHeader{
	{left: "Anthropic-Ratelimit-Requests-Remaining", reset: "Anthropic-Ratelimit-Requests-Reset", limit: "Anthropic-Ratelimit-Requests-Limit"},
	{left: "Anthropic-Ratelimit-Tokens-Remaining", reset: "Anthropic-Ratelimit-Tokens-Reset", token: true},
	{left: "Anthropic-Ratelimit-Input-Tokens-Remaining", reset: "Anthropic-Ratelimit-Input-Tokens-Reset", token: true},
	{left: "Anthropic-Ratelimit-Output-Tokens-Remaining", reset: "Anthropic-Ratelimit-Output-Tokens-Reset", token: true},
	// OpenAI, Groq, Azure and many others.
	{left: "X-Ratelimit-Remaining-Requests", reset: "X-Ratelimit-Reset-Requests", limit: "X-Ratelimit-Limit-Requests"},
	{left: "X-Ratelimit-Remaining-Tokens", reset: "X-Ratelimit-Reset-Tokens", token: true},
	// Cerebras, with fixed windows.
	{left: "X-Ratelimit-Remaining-Requests-Day", reset: "X-Ratelimit-Reset-Requests-Day"},
	{left: "X-Ratelimit-Remaining-Tokens-Minute", reset: "X-Ratelimit-Reset-Tokens-Minute", token: true},
	// OpenRouter and gateways, with fixed windows.
	{left: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset"},
}

const (
	maxAllowed  = 1e9 // maximum plausible
	minReset    = time.Millisecond
	maxResetLen = 64 // bytes
)

// Allowance returns the tightest rate limit in the headers. Token limits count only when
// used up. It ignores values that are negative, absurd, not numeric or more than a day
// ahead.
func Allowance(h http.Header, now time.Time) (a llm.Allowance, ok bool) {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		now = at // the server's clock
	}
	for _, r := range rateHeaders {
		b, said := r.readLimit(h, now)
		if !said {
			continue
		}
		if order := cmp.Compare(b.Requests, a.Requests); !ok || order < 0 || order == 0 && b.After > a.After {
			a, ok = b, true
		}
	}
	return a, ok
}

func (r rateHeader) readLimit(h http.Header, now time.Time) (llm.Allowance, bool) {
	left, ok := headerCount(h, r.left)
	if !ok || r.token && left > 0 {
		return llm.Allowance{}, false
	}
	reset, ok := parseReset(h.Get(r.reset), now)
	if !ok || reset > maxRetryAfter || reset <= 0 && left == 0 {
		return llm.Allowance{}, false
	}
	a := llm.Allowance{Requests: left, After: max(reset, minReset)}
	if limit, ok := headerCount(h, r.limit); ok && limit > left {
		a.After, a.Steady = max(reset/time.Duration(limit-left), minReset), true
	}
	return a, true
}

func headerCount(h http.Header, name string) (int, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64)
	if err != nil || !(f >= 0 && f <= maxAllowed) {
		return 0, false
	}
	return int(f), true
}

// Larger numbers are seconds or milliseconds since 1970.
const (
	minUnix   = 1e8
	minMillis = 1e11
	maxMillis = 1e14
)

// parseReset parses 6m0s, 7.66s, 120ms, seconds, or a date.
func parseReset(s string, now time.Time) (time.Duration, bool) {
	if s = strings.TrimSpace(s); s == "" || len(s) > maxResetLen {
		return 0, false
	}
	if d, err := time.ParseDuration(s); err == nil {
		return d, true
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.Sub(now), true
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || !(f >= 0 && f <= maxMillis):
		return 0, false
	case f >= minMillis:
		return time.UnixMilli(int64(f)).Sub(now), true
	case f >= minUnix:
		return time.Unix(int64(f), 0).Sub(now), true
	}
	return time.Duration(f * float64(time.Second)), true
}

// minHint is the shortest reset that becomes a RetryAfter; below it, back-off is safer.
const minHint = time.Second

// maxErrorBody is large because JSON must be parsed whole.
const maxErrorBody = 1 << 20

func (c *Client) refusalError(resp *http.Response, sent http.Header) *llm.Error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	var broken *llm.Error
	if errors.As(err, &broken) && broken.Class == llm.Cancelled {
		return broken
	}
	f, _ := parseAPIError(data, true)
	e := f.toError(resp.StatusCode)
	if resp.StatusCode/100 == 3 {
		e.Class, e.Message, e.Advice = llm.NotFound, "the server redirects to another address", "correct the base URL"
	}
	if again := resp.Header.Get("x-should-retry"); again == "true" && e.Class == llm.BadRequest {
		e.Class = llm.Transient
	}
	e.RetryAfter = RetryAfter(resp.Header, data, time.Now())
	if a, ok := Allowance(resp.Header, time.Now()); ok && a.Requests == 0 && a.After >= minHint && e.Class == llm.RateLimited && e.RetryAfter == 0 {
		e.RetryAfter = a.After
	}
	e.Message = redact(e.Message, secretKeys(sent))
	if e.Class == llm.Auth && e.Message == keyRejected && len(secretKeys(sent)) == 0 {
		e.Message = "no API key is set"
	}
	return e
}

// isUntrusted reports whether the server's identity or protocol failed TLS.
func isUntrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &header) || errors.As(err, &authority) ||
		errors.As(err, &host) || errors.Is(err, http.ErrSchemeMismatch)
}
