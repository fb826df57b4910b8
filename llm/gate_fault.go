package llm

import (
	"slices"
	"strings"
	"time"
)

// ResetAuthErrors lets the next request test a repaired key or account at once.
func (g *Gate) ResetAuthErrors() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for model, b := range g.breakers {
		g.breakers[model] = b.admitProbe()
	}
}

// endSuspense lets the requests of a model that wait for its probe ask again. g.mu is locked.
func (g *Gate) endSuspense(model string) {
	if c := g.suspects[model]; c != nil {
		close(c)
		delete(g.suspects, model)
	}
}

// A Fault is the reason for which a model gets no requests, or only a probe at a time.
type Fault struct {
	Model      string
	Class      Class
	Status     int           // HTTP, or zero
	RetryAfter time.Duration // until the next probe; zero: the next request is one, or a probe runs
}

// Faults returns the models that failed too often or whose key or account was refused, by name.
func (g *Gate) Faults() (list []Fault) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for model, b := range g.breakers {
		if b.state == breakerOpen || b.state == breakerDenied {
			list = append(list, Fault{model, b.cause.Class, b.cause.Status, max(0, b.until.Sub(now))})
		}
	}
	slices.SortFunc(list, func(a, b Fault) int { return strings.Compare(a.Model, b.Model) })
	return list
}
