package auth

import (
	"net/http"
	"slices"
	"time"
)

// unpaced are paths that are asked for by what looks after the server, or looks it up: they
// count in no pace.
var unpaced = []string{"/healthz", "/readyz", "/metrics", "/docs"}

// isPaced reports whether a request counts in the pace of its token.
func isPaced(r *http.Request) bool { return !slices.Contains(unpaced, r.URL.Path) }

// A pace is how many requests a token has left: a bucket that fills at its pace, and
// holds a minute of it up to mostBurst requests, or ten seconds of it if those are more (a
// token bucket).
type pace struct {
	left float64
	at   time.Time
}

// How much a bucket holds.
const (
	mostBurst  = 60 // requests of a slow pace
	burstShare = 6  // of a minute, at a fast one
)

// wait takes one request from the pace of a token, and returns zero; or returns after
// how long there will be one.
func (g *Guard) wait(t Token) time.Duration {
	if t.PerMinute <= 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cfg.Now()
	most := max(min(float64(t.PerMinute), mostBurst), float64(t.PerMinute)/burstShare)
	p := g.paces[t.Name]
	if p == nil {
		p = &pace{left: most, at: now}
		g.paces[t.Name] = p
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
