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
	now := g.cfg.Now()
	most := max(min(float64(t.PerMinute), maxBurst), float64(t.PerMinute)/burstShare)
	p := g.buckets[t.Name]
	if p == nil {
		p = &bucket{left: most, at: now}
		g.buckets[t.Name] = p
	}
	perSecond := float64(t.PerMinute) / 60
	if gone := now.Sub(p.at).Seconds(); gone > 0 {
		p.left, p.at = min(most, p.left+gone*perSecond), now
	}
	if p.left < 1 {
		return time.Duration((1-p.left)/perSecond*float64(time.Second)) + time.Millisecond // never zero
	}
	p.left--
	return 0
}
