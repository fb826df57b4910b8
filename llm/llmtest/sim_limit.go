package llmtest

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A limiter lets requests through at a rate: a bucket that fills steadily. Its
// zero value is a full one.
type limiter struct {
	mu   sync.Mutex
	full time.Time // when the bucket will be full again
}

func (l *limiter) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.full = time.Time{}
}

// take takes a request out of the bucket. It returns how many are left, when
// the bucket will be full again, and how long to wait if it is empty.
func (l *limiter) take(perMinute, burst int, now time.Time) (left int, full, wait time.Duration) {
	if burst <= 0 {
		burst = perMinute
	}
	each := time.Minute / time.Duration(perMinute)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full.Before(now) {
		l.full = now
	}
	full = l.full.Sub(now)
	if room := time.Duration(burst) * each; full+each > room {
		return 0, full, full + each - room
	}
	l.full = l.full.Add(each)
	full += each
	return int((time.Duration(burst)*each - full) / each), full, 0
}

// within checks the limits on requests and says how the client stands.
func (x *exchange) within() (failure, bool) {
	c := x.config
	x.held = true
	if n := x.sim.held.Add(1); c.Parallel > 0 && int(n) > c.Parallel {
		return failure{kind: rateLimited, retry: x.retryAfter(), message: "Too many concurrent requests."}, false
	}
	if c.PerMinute <= 0 {
		return failure{}, true
	}
	now := time.Now()
	left, full, wait := x.sim.limit.take(c.PerMinute, c.Burst, now)
	x.dialect.limits(x.w.Header(), c.PerMinute, left, full, now)
	if wait > 0 {
		return failure{kind: rateLimited, retry: wait}, false
	}
	return failure{}, true
}

// retryAfter is how long to wait where no limit says it.
func (x *exchange) retryAfter() time.Duration {
	if d := x.config.RetryAfter.Mean; d > 0 {
		return d
	}
	return time.Second
}

func openaiLimits(h http.Header, limit, left int, full time.Duration, _ time.Time) {
	h.Set("x-ratelimit-limit-requests", strconv.Itoa(limit))
	h.Set("x-ratelimit-remaining-requests", strconv.Itoa(left))
	h.Set("x-ratelimit-reset-requests", full.Round(time.Millisecond).String())
}

func anthropicLimits(h http.Header, limit, left int, full time.Duration, now time.Time) {
	h.Set("anthropic-ratelimit-requests-limit", strconv.Itoa(limit))
	h.Set("anthropic-ratelimit-requests-remaining", strconv.Itoa(left))
	h.Set("anthropic-ratelimit-requests-reset", now.Add(full).UTC().Format(time.RFC3339))
}

func noLimits(http.Header, int, int, time.Duration, time.Time) {}

// retryWords is how OpenAI and others write a time to wait in a message.
func retryWords(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
}
