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
	// than anyone's patience, so that callers turn to another model.
	notSoon = 5 * time.Minute
)

// RetryAfter returns how long a failed answer asks to wait: by the headers
// retry-after-ms and Retry-After (seconds, fractions of them, or a date), by
// Google's retryDelay in the body, or by the words "try again in" there. Zero
// means that it does not say. If x-should-retry says no, it is at least five
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
	for _, mark := range []string{"retryDelay", "try again in ", "retry in "} {
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

// spoken finds mark in the body and parses the duration after it: 53s, 1.5s,
// 200ms, 6m0s, quoted or not, escaped or not, or {"seconds": 53}.
func spoken(body []byte, mark string) time.Duration {
	_, rest, ok := bytes.Cut(body, []byte(mark))
	if !ok {
		return 0
	}
	rest = bytes.TrimLeft(rest[:min(len(rest), 64)], "\\\": \t\r\n{seconds")
	n := 0
	for n < len(rest) && strings.IndexByte("0123456789.hmsu", rest[n]) >= 0 {
		n++
	}
	text := strings.TrimRight(string(rest[:n]), ".")
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	return amount(text, time.Second)
}
