package wire

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ponder/llm"
)

// A rateHeader is how a provider says what is left of one of its limits. All of its
// names are in their canonical form.
type rateHeader struct {
	left  string
	reset string
	limit string // if the limit fills steadily, and reset is when it is full again
	token bool   // it is of tokens
}

// rateHeaders are those that providers send, as their documentation says and answers show.
var rateHeaders = [...]rateHeader{
	{left: "Anthropic-Ratelimit-Requests-Remaining", reset: "Anthropic-Ratelimit-Requests-Reset", limit: "Anthropic-Ratelimit-Requests-Limit"},
	{left: "Anthropic-Ratelimit-Tokens-Remaining", reset: "Anthropic-Ratelimit-Tokens-Reset", token: true},
	{left: "Anthropic-Ratelimit-Input-Tokens-Remaining", reset: "Anthropic-Ratelimit-Input-Tokens-Reset", token: true},
	{left: "Anthropic-Ratelimit-Output-Tokens-Remaining", reset: "Anthropic-Ratelimit-Output-Tokens-Reset", token: true},
	// OpenAI, Groq, Azure and many others.
	{left: "X-Ratelimit-Remaining-Requests", reset: "X-Ratelimit-Reset-Requests", limit: "X-Ratelimit-Limit-Requests"},
	{left: "X-Ratelimit-Remaining-Tokens", reset: "X-Ratelimit-Reset-Tokens", token: true},
	// Cerebras, whose limits begin anew.
	{left: "X-Ratelimit-Remaining-Requests-Day", reset: "X-Ratelimit-Reset-Requests-Day"},
	{left: "X-Ratelimit-Remaining-Tokens-Minute", reset: "X-Ratelimit-Reset-Tokens-Minute", token: true},
	// OpenRouter and gateways, whose limits begin anew.
	{left: "X-Ratelimit-Remaining", reset: "X-Ratelimit-Reset"},
}

const (
	maxAllowed  = 1e9              // requests that are believed to be left
	leastReset  = time.Millisecond // between two requests more
	maxResetLen = 64               // bytes of a time
)

// Allowance returns what an answer's headers say is left of the tightest of its limits,
// and whether they say it. Of tokens only that none are left counts. What is negative,
// absurd, more than a day ahead or not a number says nothing.
func Allowance(h http.Header, now time.Time) (a llm.Allowance, ok bool) {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		now = at // dates are by the server's clock
	}
	for _, r := range rateHeaders {
		b, said := r.read(h, now)
		if !said {
			continue
		}
		if order := cmp.Compare(b.Requests, a.Requests); !ok || order < 0 || order == 0 && b.After > a.After {
			a, ok = b, true
		}
	}
	return a, ok
}

func (r rateHeader) read(h http.Header, now time.Time) (llm.Allowance, bool) {
	left, ok := allowed(h, r.left)
	if !ok || r.token && left > 0 {
		return llm.Allowance{}, false
	}
	reset, ok := resetIn(h.Get(r.reset), now)
	if !ok || reset > maxRetryAfter || reset <= 0 && left == 0 {
		return llm.Allowance{}, false
	}
	a := llm.Allowance{Requests: left, After: max(reset, leastReset)}
	if limit, ok := allowed(h, r.limit); ok && limit > left {
		a.After, a.Steady = max(reset/time.Duration(limit-left), leastReset), true
	}
	return a, true
}

// allowed reads a number of requests or tokens.
func allowed(h http.Header, name string) (int, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64)
	if err != nil || !(f >= 0 && f <= maxAllowed) {
		return 0, false
	}
	return int(f), true
}

// Numbers that are too large for seconds are dates: seconds since 1970, or milliseconds.
const (
	leastUnix   = 1e8
	leastMillis = 1e11
	mostMillis  = 1e14
)

// resetIn reads a time from now on: 6m0s, 7.66s, 120ms, seconds, or a date.
func resetIn(s string, now time.Time) (time.Duration, bool) {
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
	case err != nil || !(f >= 0 && f <= mostMillis):
		return 0, false
	case f >= leastMillis:
		return time.UnixMilli(int64(f)).Sub(now), true
	case f >= leastUnix:
		return time.Unix(int64(f), 0).Sub(now), true
	}
	return time.Duration(f * float64(time.Second)), true
}
