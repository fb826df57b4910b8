package client

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// Times between two tries. Each is twice the one before, less up to half of it by
// chance.
const (
	firstWait = 100 * time.Millisecond
	longWait  = 5 * time.Second
)

// A lostError is that a server was not reached, or that its answer did not arrive.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// again tries until it works, fails for good, or patience is at its end.
func (c *Client) again(ctx context.Context, try func() error) error {
	patience := cmp.Or(c.Patience, DefaultPatience)
	began := time.Now()
	for n := 0; ; n++ {
		err := try()
		wait, ok := waitFor(err, n)
		if !ok || time.Since(began)+wait > patience {
			return err
		}
		if !sleep(ctx, wait) {
			return err
		}
	}
}

// waitFor returns after how long to try again what has failed n times before, and
// whether that makes sense.
func waitFor(err error, n int) (time.Duration, bool) {
	var p *Problem
	var lost lostError
	switch {
	case errors.As(err, &p):
		if !p.busy() {
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

// busy reports whether a server that answers so may answer otherwise soon.
func (p *Problem) busy() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// sleep waits, and reports whether ctx went on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
