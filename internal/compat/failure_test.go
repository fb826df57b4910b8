package compat

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			class  llm.Class
			in     time.Duration // zero: no time
			status int
			header string
		}{
			{llm.RateLimited, 41*time.Second + time.Millisecond, 429, "42"},
			{llm.RateLimited, 0, 429, "10"},
			{llm.RateLimited, -time.Minute, 429, "10"},
			{llm.Transient, 5 * time.Second, 503, "5"},
			{llm.Transient, 0, 503, ""},
			{llm.Auth, time.Minute, 502, ""},
		} {
			e := End{Status: ponder.Failed, ErrorClass: tt.class, Reason: "why"}
			if tt.in != 0 {
				e.NotBefore = time.Now().Add(tt.in)
			}
			f, h := e.APIError(), http.Header{}
			if f.SetRetryAfter(h); f.Status != tt.status || h.Get("Retry-After") != tt.header {
				t.Errorf("%s in %s: %d, %q", tt.class, tt.in, f.Status, h.Get("Retry-After"))
			}
			if f.IsPermanent() != (tt.status == 502) {
				t.Errorf("%s: permanent %v", tt.class, f.IsPermanent())
			}
		}
	})
}

// Embeddings have no run, so their errors arrive directly.
func TestDirectErrors(t *testing.T) {
	d := &Dispatcher{}
	f := d.APIErrorOf(&llm.Error{Class: llm.RateLimited, Message: "slow down", RetryAfter: 7 * time.Second})
	if f.Status != http.StatusTooManyRequests || f.RetryAfter != 7*time.Second || f.Detail == "" {
		t.Errorf("%+v", f)
	}
	if f := d.APIErrorOf(&llm.Error{Class: llm.TooLong, Message: "too many tokens"}); f.Status != http.StatusBadRequest || f.Class != llm.TooLong {
		t.Errorf("%+v", f)
	}
}
