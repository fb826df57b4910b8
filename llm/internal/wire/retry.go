package wire

import (
	"bytes"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRetryAfter bounds what a provider can ask for.
	maxRetryAfter = 24 * time.Hour

	// notSoon is the least wait when a provider says not to try again: longer
	// than the patience of any [llm.Policy] that says nothing of it, so that callers turn to another model.
	notSoon = 6 * time.Minute
)

// RetryAfter returns how long a failed answer asks to wait: by the headers
// retry-after-ms and Retry-After (seconds, fractions of them, or a date), by
// Google's retryDelay in the body, or by the words "try again in" there. Zero
// means that it does not say. If x-should-retry says no, it is at least six
// minutes. It never exceeds a day.
func RetryAfter(header http.Header, body []byte, now time.Time) time.Duration {
	d := hint(header, body, now)
	if strings.EqualFold(header.Get("x-should-retry"), "false") {
		d = max(d, notSoon)
	}
	return min(max(d, 0), maxRetryAfter)
}

func hint(header http.Header, body []byte, now time.Time) time.Duration {
	if d := amount(header.Get("retry-after-ms"), time.Millisecond); d > 0 {
		return d
	}
	after := strings.TrimSpace(header.Get("Retry-After"))
	if d := amount(strings.TrimSuffix(after, "s"), time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(after); err == nil {
		return at.Sub(now)
	}
	body = bytes.ToLower(body)
	for _, mark := range []string{"retrydelay", "try again in ", "retry in "} {
		if d := spoken(body, mark); d > 0 {
			return d
		}
	}
	return 0
}

// amount parses a number of units, zero if it is not one.
func amount(s string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	return time.Duration(min(f*float64(unit), float64(maxRetryAfter)))
}

// spoken finds mark in the body, in whatever case, and parses the duration after it.
func spoken(body []byte, mark string) time.Duration {
	_, rest, ok := bytes.Cut(body, []byte(mark))
	if !ok {
		return 0
	}
	return duration(strings.TrimLeft(string(rest[:min(len(rest), 64)]), "\\\": \t\r\n{second"))
}

// duration parses what a text in lower case begins with: 53s, 1.5s, 200ms, 6m0s, 2 minutes,
// 1 hour 30 minutes. A number alone is of seconds; one of a unit that is not known is none.
func duration(s string) (d time.Duration) {
	for first := true; ; first = false {
		n := span(s, "0123456789.")
		number := strings.TrimRight(s[:n], ".")
		s = strings.TrimLeft(s[n:], " ")
		n = span(s, "abcdefghijklmnopqrstuvwxyz")
		unit, ok := units[s[:n]]
		if first && n == 0 {
			return amount(number, time.Second)
		}
		if !ok || number == "" {
			return d
		}
		d = min(d+amount(number, unit), maxRetryAfter)
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

// span returns how many bytes s begins with that are among some.
func span(s, some string) int { return len(s) - len(strings.TrimLeft(s, some)) }
