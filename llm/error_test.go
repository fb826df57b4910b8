package llm

import (
	"testing"
	"time"
)

func TestErrorSays(t *testing.T) {
	for want, e := range map[string]Error{
		"p/m: key rejected (401): set P_KEY":          {Model: "p/m", Message: "key rejected", Status: 401, Advice: "set P_KEY"},
		"slow down (429)":                             {Message: "slow down", Status: 429, RetryAfter: 59 * time.Second},
		"slow down (429), retry in 1m20s":             {Message: "slow down", Status: 429, RetryAfter: 80 * time.Second},
		"slow down (429), retry in 24h0m: pay for it": {Message: "slow down", Status: 429, RetryAfter: 24 * time.Hour, Advice: "pay for it"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
