package wire

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"ponder/llm"
)

func newHeader(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

func TestAllowance(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const s = time.Second
	tests := []struct {
		name   string
		header http.Header
		want   llm.Allowance // zero: no limit in the headers
	}{
		{"nothing", nil, llm.Allowance{}},
		{"openai", newHeader("x-ratelimit-limit-requests", "200", "x-ratelimit-remaining-requests", "196", "x-ratelimit-reset-requests", "23m16.298s",
			"x-ratelimit-limit-tokens", "40000", "x-ratelimit-remaining-tokens", "39924", "x-ratelimit-reset-tokens", "114ms"),
			llm.Allowance{Requests: 196, After: (23*time.Minute + 16298*time.Millisecond) / 4, Steady: true}},
		{"groq, of a day", newHeader("x-ratelimit-limit-requests", "14400", "x-ratelimit-remaining-requests", "14370", "x-ratelimit-reset-requests", "2m59.56s"),
			llm.Allowance{Requests: 14370, After: (179560 * time.Millisecond) / 30, Steady: true}},
		{"no limit", newHeader("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "120ms"),
			llm.Allowance{After: 120 * time.Millisecond}},
		{"plain seconds", newHeader("x-ratelimit-remaining-requests", "3", "x-ratelimit-reset-requests", "7.5"),
			llm.Allowance{Requests: 3, After: 7500 * time.Millisecond}},
		{"no tokens left", newHeader("x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "50", "x-ratelimit-reset-requests", "10s",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "6m0s"), llm.Allowance{After: 6 * time.Minute}},
		{"nothing left of both", newHeader("x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1m0s",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "20s"), llm.Allowance{After: 20 * s}},
		{"few tokens left", newHeader("x-ratelimit-remaining-tokens", "1", "x-ratelimit-reset-tokens", "6m0s"), llm.Allowance{}},
		{"anthropic", newHeader("anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49",
			"anthropic-ratelimit-requests-reset", "2026-11-21T12:00:02Z", "anthropic-ratelimit-tokens-limit", "80000",
			"anthropic-ratelimit-tokens-remaining", "79000", "anthropic-ratelimit-tokens-reset", "2026-11-21T12:01:00Z"),
			llm.Allowance{Requests: 49, After: 2 * s, Steady: true}},
		{"anthropic, no output tokens", newHeader("anthropic-ratelimit-output-tokens-remaining", "0", "anthropic-ratelimit-output-tokens-reset", "2026-11-21T13:00:30+01:00"),
			llm.Allowance{After: 30 * s}},
		{"the server's clock", newHeader("Date", "Sat, 21 Nov 2026 15:00:00 GMT", "anthropic-ratelimit-requests-remaining", "0",
			"anthropic-ratelimit-requests-reset", "2026-11-21T15:00:09Z"), llm.Allowance{After: 9 * s}},
		{"openrouter", newHeader("X-RateLimit-Limit", "20", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1795262430000"), llm.Allowance{After: 30 * s}},
		{"seconds since 1970", newHeader("X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "1795262430"), llm.Allowance{Requests: 1, After: 30 * s}},
		{"seconds from now", newHeader("X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "30"), llm.Allowance{Requests: 1, After: 30 * s}},
		{"cerebras", newHeader("x-ratelimit-limit-requests-day", "14400", "x-ratelimit-remaining-requests-day", "14399", "x-ratelimit-reset-requests-day", "33011.382867",
			"x-ratelimit-remaining-tokens-minute", "0", "x-ratelimit-reset-tokens-minute", "11.382867"), llm.Allowance{After: 11382867 * time.Microsecond}},
		{"all left", newHeader("x-ratelimit-limit-requests", "100", "x-ratelimit-remaining-requests", "100", "x-ratelimit-reset-requests", "0s"),
			llm.Allowance{Requests: 100, After: time.Millisecond}},
		{"more left than there is", newHeader("x-ratelimit-limit-requests", "5", "x-ratelimit-remaining-requests", "9", "x-ratelimit-reset-requests", "4s"),
			llm.Allowance{Requests: 9, After: 4 * s}},
		{"steady beyond measure", newHeader("x-ratelimit-limit-requests", "1000000000", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1s"),
			llm.Allowance{After: time.Millisecond, Steady: true}},
		{"no reset", newHeader("x-ratelimit-remaining-requests", "0"), llm.Allowance{}},
		{"gone", newHeader("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "-5s"), llm.Allowance{}},
		{"long gone", newHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1600000000"), llm.Allowance{}},
		{"far ahead", newHeader("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "25h"), llm.Allowance{}},
		{"a date far ahead", newHeader("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "9999-01-01T00:00:00Z"), llm.Allowance{}},
		{"negative", newHeader("x-ratelimit-remaining-requests", "-1", "x-ratelimit-reset-requests", "5s"), llm.Allowance{}},
		{"not a number", newHeader("x-ratelimit-remaining-requests", "NaN", "x-ratelimit-reset-requests", "NaN"), llm.Allowance{}},
		{"infinite", newHeader("x-ratelimit-remaining-requests", "Inf", "x-ratelimit-reset-requests", "Inf"), llm.Allowance{}},
		{"reset not a number", newHeader("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "NaN"), llm.Allowance{}},
		{"absurd", newHeader("x-ratelimit-remaining-requests", "1e300", "x-ratelimit-reset-requests", "5s"), llm.Allowance{}},
		{"reset absurd", newHeader("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1e300"), llm.Allowance{}},
		{"rubbish", newHeader("x-ratelimit-remaining-requests", "some", "x-ratelimit-reset-requests", "soon"), llm.Allowance{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Allowance(tt.header, now)
			if got != tt.want || ok != (tt.want != llm.Allowance{}) {
				t.Errorf("got %+v, %v, want %+v", got, ok, tt.want)
			}
		})
	}
}

func FuzzAllowance(f *testing.F) {
	f.Add("0", "6m0s", "100")
	f.Add("3", "2026-11-21T12:00:02Z", "")
	f.Add("1e9", "1795262430000", "1e9")
	f.Add("0", "-9223372036854775808ns", "1")
	f.Fuzz(func(t *testing.T, left, reset, limit string) {
		for _, r := range rateHeaders {
			h := http.Header{r.left: {left}, r.reset: {reset}}
			if r.limit != "" {
				h[r.limit] = []string{limit}
			}
			a, ok := Allowance(h, time.Unix(1795262400, 0))
			if ok && (a.Requests < 0 || a.Requests > maxAllowed || a.After < minReset || a.After > maxRetryAfter) {
				t.Errorf("%v gives %+v", h, a)
			}
		}
	})
}

// Do reports limits for any status before it reads the body. They become RetryAfter of a
// refusal.
func TestClientTellsAllowance(t *testing.T) {
	for _, tt := range []struct {
		status int
		reset  time.Duration
		retry  time.Duration
	}{
		{http.StatusOK, 7 * time.Second, 0},
		{http.StatusTooManyRequests, 7 * time.Second, 7 * time.Second},
		{http.StatusTooManyRequests, 20 * time.Millisecond, 0},
		{http.StatusInternalServerError, 7 * time.Second, 0},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Remaining-Requests", "0")
			w.Header().Set("X-RateLimit-Reset-Requests", tt.reset.String())
			w.WriteHeader(tt.status)
		}))
		defer server.Close()
		var told []llm.Allowance
		ctx := llm.WithAllowance(t.Context(), func(a llm.Allowance) { told = append(told, a) })
		c := &Client{Name: "p"}
		resp, err := c.Do(ctx, "m", http.MethodGet, server.URL, nil, nil)
		if err == nil {
			resp.Body.Close()
		}
		if want := []llm.Allowance{{After: tt.reset}}; !slices.Equal(told, want) {
			t.Errorf("%d: told %+v, want %+v", tt.status, told, want)
		}
		var e *llm.Error
		if errors.As(err, &e) && e.RetryAfter != tt.retry {
			t.Errorf("%d: to be asked again after %v, want %v", tt.status, e.RetryAfter, tt.retry)
		}
	}
}
