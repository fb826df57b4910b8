package openai_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/compat/openai"
	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

// An exchange passes a rate limit on at once, so that the client waits. A conversation waits itself.
func TestRateLimit(t *testing.T) {
	for _, stream := range []string{"", `,"stream":true`} {
		for name, tt := range map[string]struct {
			path, body string
			after      time.Duration
			code       int
			header     string
		}{
			"exchange":          {at, `{"model":"ponder","tools":[` + weather + `],"messages":[{"role":"user","content":"How deep?"}]` + stream + `}`, 5 * time.Second, http.StatusTooManyRequests, "5"},
			"exchange, no time": {at, `{"model":"ponder","tools":[` + weather + `],"messages":[{"role":"user","content":"How deep?"}]` + stream + `}`, 0, http.StatusTooManyRequests, "10"},
			"completion":        {legacyPath, `{"model":"ponder","prompt":"How deep?"` + stream + `}`, 3 * time.Second, http.StatusTooManyRequests, "3"},
			"conversation":      {at, `{"model":"ponder","messages":[{"role":"user","content":"How deep?"}]` + stream + `}`, 3 * time.Second, http.StatusOK, ""},
		} {
			synctest.Test(t, func(t *testing.T) {
				model := &protocoltest.Model{Answer: func(_ *llm.Request, n int) protocoltest.Answer {
					if n > 0 {
						return protocoltest.Plain("deep")
					}
					return protocoltest.Answer{Err: &llm.Error{Class: llm.RateLimited, Message: "slow down", Status: 429, RetryAfter: tt.after}}
				}}
				r := protocoltest.New(t, protocoltest.Options{Model: model, Routes: openai.New, Refuse: writeRefusal})
				begun := time.Now()
				got := r.Stream(protocoltest.Request(t.Context(), http.MethodPost, tt.path, tt.body), 0)
				if took := time.Since(begun); got.Code != tt.code || got.Header.Get("Retry-After") != tt.header || took > time.Second && tt.code != http.StatusOK {
					t.Errorf("%s%s: %d with Retry-After %q after %s: %s", name, stream, got.Code, got.Header.Get("Retry-After"), took, got.Body)
				}
			})
		}
	}
}
