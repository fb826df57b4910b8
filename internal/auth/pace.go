package auth

import (
	"net/http"
	"slices"
	"time"
)

// unlimitedPaths are for monitoring and documentation and have no rate limit.
var unlimitedPaths = []string{"/healthz", "/readyz", "/metrics", "/docs"}

// isRateLimited reports whether a request counts for the rate of its token.
func isRateLimited(r *http.Request) bool { return !slices.Contains(unlimitedPaths, r.URL.Path) }

// A bucket is a token bucket. It fills at the token's rate and holds one minute of it up to
// maxBurst requests, or ten seconds of it if that is more.
type bucket struct {
	left float64
	at   time.Time
}

// Capacity of a bucket.
const (
	maxBurst   = 60 // requests at a low rate
	burstShare = 6  // share of a minute at a high rate
)

// takeRequest takes one request from the token's bucket and returns 0, or returns the time until one is
// available.
func (g *Guard) takeRequest(t Token) time.Duration {
	if t.PerMinute <= 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	most := max(min(float64(t.PerMinute), maxBurst), float64(t.PerMinute)/burstShare)
	p := g.buckets[t.Name]
	if p == nil {
		p = &bucket{left: most, at: g.cfg.Now()}
		g.buckets[t.Name] = p
	}
	wait := p.untilNext(g.cfg.Now(), most, time.Minute/time.Duration(t.PerMinute))
	if wait == 0 {
		p.left--
	}
	return wait
}

// untilNext refills a bucket and returns the time until it has one, or 0.
func (b *bucket) untilNext(now time.Time, most float64, refill time.Duration) time.Duration {
	if gone := now.Sub(b.at); gone > 0 {
		b.left, b.at = min(most, b.left+gone.Seconds()/refill.Seconds()), now
	} else if gone < 0 { // the clock was set back
		b.at = now
	}
	if b.left >= 1 {
		return 0
	}
	return time.Duration((1-b.left)*float64(refill)) + time.Millisecond // never zero
}
