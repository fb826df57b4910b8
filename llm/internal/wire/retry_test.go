package wire

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	head := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
	}{
		{"nothing", nil, "", 0},
		{"seconds", head("Retry-After", "7"), "", 7 * time.Second},
		{"fraction", head("Retry-After", "0.25"), "", 250 * time.Millisecond},
		{"with unit", head("Retry-After", "3s"), "", 3 * time.Second},
		{"milliseconds first", head("retry-after-ms", "1500", "Retry-After", "9"), "", 1500 * time.Millisecond},
		{"bad milliseconds", head("retry-after-ms", "soon", "Retry-After", "9"), "", 9 * time.Second},
		{"date", head("Retry-After", "Sat, 21 Nov 2026 12:00:30 GMT"), "", 30 * time.Second},
		{"date gone", head("Retry-After", "Sat, 21 Nov 2026 11:00:30 GMT"), "", 0},
		{"rubbish", head("Retry-After", "a while"), "", 0},
		{"negative", head("Retry-After", "-5"), "", 0},
		{"not a number", head("Retry-After", "NaN"), "", 0},
		{"infinite", head("Retry-After", "Inf"), "", 24 * time.Hour},
		{"absurd", head("Retry-After", "1e300"), "", 24 * time.Hour},
		{"google", nil, `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"53s"}]}}`, 53 * time.Second},
		{"google, spaced and fractional", nil, `[{"error":{"details":[{"retryDelay" : "1.5s"}]}}]`, 1500 * time.Millisecond},
		{"google within a string", nil, `{"raw":"{\n \"retryDelay\": \"20s\"\n}"}`, 20 * time.Second},
		{"google as object", nil, `{"retryDelay":{"seconds":4}}`, 4 * time.Second},
		{"header before body", head("Retry-After", "2"), `{"retryDelay":"53s"}`, 2 * time.Second},
		{"words", nil, `{"error":{"message":"Please try again in 1.898s. Visit"}}`, 1898 * time.Millisecond},
		{"words in milliseconds", nil, `Please try again in 20ms.`, 20 * time.Millisecond},
		{"words in minutes", nil, `Please try again in 6m0.5s.`, 6*time.Minute + 500*time.Millisecond},
		{"words with a unit apart", nil, `Try again in 2 minutes`, 2 * time.Minute},
		{"words of two units", nil, `please retry in 1 hour 30 minutes.`, 90 * time.Minute},
		{"words of milliseconds apart", nil, `try again in 500 ms`, 500 * time.Millisecond},
		{"words of hours", nil, `Retry in 12 hours`, 12 * time.Hour},
		{"words of a number", nil, `try again in 20.`, 20 * time.Second},
		{"words of an unknown unit", nil, `try again in 2 moons`, 0},
		{"words of nothing", nil, `try again in a while`, 0},
		{"should not", head("x-should-retry", "false"), "", 6 * time.Minute},
		{"should not, and later", head("x-should-retry", "false", "Retry-After", "600"), "", 10 * time.Minute},
		{"should", head("x-should-retry", "true", "Retry-After", "1"), "", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := RetryAfter(tt.header, []byte(tt.body), now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("1.5", `"retryDelay":"53s"`)
	f.Fuzz(func(t *testing.T, after, body string) {
		d := RetryAfter(http.Header{"Retry-After": {after}}, []byte(body), time.Unix(0, 0))
		if d < 0 || d > maxRetryAfter {
			t.Errorf("got %v", d)
		}
	})
}
