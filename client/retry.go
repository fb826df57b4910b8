package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// The wait between attempts. It doubles with each, minus a random part of up to a half.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// A lostError says that the server was unreachable, or that its answer was lost.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// retry calls try until it succeeds, fails permanently, or patience ends.
func (c *Client) retry(ctx context.Context, try func() error) error {
	patience := cmp.Or(c.RetryTime, DefaultRetryTime)
	began := time.Now()
	for n := 0; ; n++ {
		err := try()
		wait, ok := waitFor(err, n)
		if !ok || time.Since(began)+wait > patience {
			return err
		}
		if !sleepContext(ctx, wait) {
			return err
		}
	}
}

// waitFor returns the wait before the next attempt after n failures, and whether a retry
// makes sense.
func waitFor(err error, n int) (time.Duration, bool) {
	var p *Problem
	var lost lostError
	switch {
	case errors.As(err, &p):
		if !p.isBusy() {
			return 0, false
		}
	case !errors.As(err, &lost):
		return 0, false
	}
	wait := min(longWait, firstWait<<min(n, 10))
	wait -= rand.N(wait/2 + 1)
	if p != nil {
		wait = max(wait, p.Retry)
	}
	return wait, true
}

// isBusy reports whether the server may soon answer differently.
func (p *Problem) isBusy() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// sleepContext waits, and reports whether ctx did not end.
func sleepContext(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
