package access

import "time"

// A pace is how many requests a token has left: a bucket that fills at its pace, and
// holds what comes in ten seconds of it, or one (a token bucket).
type pace struct {
	left float64
	at   time.Time
}

// burstShare of a minute is how much a bucket holds.
const burstShare = 6

// wait takes one request from the pace of a token, and returns zero; or returns after
// how long there will be one.
func (g *Guard) wait(t Token) time.Duration {
	if t.PerMinute <= 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now, most := g.cfg.Now(), max(1, float64(t.PerMinute)/burstShare)
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
