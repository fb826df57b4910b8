package llm

import (
	"slices"
	"sync"
	"time"
)

// Numbers of hedging.
const (
	paceLeast  = 20  // requests that have begun to answer; of fewer it is not known what is slow
	paceMost   = 100 // of which it is remembered
	hedgeShare = 20  // requests that pay for one hedge
	hedgeBurst = 2   // hedges that can be saved up
)

// A pace is how soon one model begins to answer, and how many requests to it may be
// hedged. The zero pace knows nothing and has nothing saved up. It has no clock, and is
// safe for concurrent use.
type pace struct {
	mu     sync.Mutex
	firsts []time.Duration // from a request to the first of its answer; the last paceMost
	oldest int             // of firsts, once they are so many
	saved  int             // requests that have not paid for a hedge yet
}

// note notes how long a request took to begin with its answer.
func (p *pace) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.firsts) < paceMost {
		p.firsts = append(p.firsts, d)
		return
	}
	p.firsts[p.oldest] = d
	p.oldest = (p.oldest + 1) % paceMost
}

// request notes a request that may be hedged. It returns how long 95 in 100 took at most
// to begin with their answers, if enough have.
func (p *pace) request() (late time.Duration, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.saved = min(p.saved+1, hedgeBurst*hedgeShare)
	n := len(p.firsts)
	if n < paceLeast {
		return 0, false
	}
	return slices.Sorted(slices.Values(p.firsts))[(95*n+99)/100-1], true
}

// hedge takes a hedge, and reports whether there was one to take.
func (p *pace) hedge() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.saved < hedgeShare {
		return false
	}
	p.saved -= hedgeShare
	return true
}

// maxPaces bounds of how many models a gate knows the pace.
const maxPaces = 200

func (g *Gate) pace(model string) *pace {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.paces[model]
	if p == nil {
		if len(g.paces) >= maxPaces {
			clear(g.paces)
		}
		p = new(pace)
		g.paces[model] = p
	}
	return p
}

// hedge lets a second request to a model in, or returns nil: it waits for nothing.
func (g *Gate) hedge(model string, of *pace) *pass {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.stand(model, now)
	if _, a := g.breakers[model].ask(now); a != (admission{}) || s.spent() || s.held() > 0 || !g.lane.free() || !of.hedge() {
		return nil
	}
	g.lane.inFlight++
	s.quota = s.sent()
	return &pass{model: model, started: now}
}
