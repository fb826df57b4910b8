package llm

import (
	"container/heap"
	"context"
	"time"
)

// A quota predicts how many requests a provider accepts. It is a value: each change
// returns the next quota. Zero is unbounded.
type quota struct {
	bound      bool
	left       int
	refillAt   time.Time     // next refill
	interval   time.Duration // interval of one more; zero: unbounded from until on
	unanswered int           // unanswered, perhaps not counted yet
}

func (q quota) refillTo(now time.Time) quota {
	switch {
	case !q.bound || now.Before(q.refillAt):
		return q
	case q.interval == 0:
		return quota{unanswered: q.unanswered}
	}
	n := now.Sub(q.refillAt)/q.interval + 1
	q.left, q.refillAt = q.left+int(n), q.refillAt.Add(n*q.interval)
	return q
}

func (q quota) applyAllowance(a Allowance, now time.Time) quota {
	after := max(a.After, time.Millisecond)
	q = quota{bound: true, left: max(0, a.Requests-q.unanswered), refillAt: now.Add(after), unanswered: q.unanswered}
	if a.Steady {
		q.interval = after
	}
	return q
}

func (q quota) countSent() quota {
	q.left = max(0, q.left-1)
	q.unanswered++
	return q
}

func (q quota) isSpent() bool { return q.bound && q.left == 0 }

// A modelQuota is one model's quota with the requests it holds.
type modelQuota struct {
	quota
	waiting [2]queue // interactive, background
	passed  int      // as in lane
	timer   *time.Timer

	// slowdown doubles the reported interval that often, because providers may enforce
	// another limit than they report.
	slowdown int
}

const maxSlow = 10

func (g *Gate) quotaFor(model string, now time.Time) *modelQuota {
	s := g.quotas[model]
	if s == nil {
		s = &modelQuota{}
		g.quotas[model] = s
	}
	s.quota = s.refillTo(now)
	return s
}

// quotaContext returns a context whose allowances go to the gate.
func (g *Gate) quotaContext(ctx context.Context, p *slot) context.Context {
	return WithAllowance(ctx, func(a Allowance) {
		now := time.Now()
		g.mu.Lock()
		defer g.mu.Unlock()
		s := g.quotaFor(p.model, now)
		s.markAnswered(p)
		if a.Steady && a.Requests > 2 && s.slowdown > 0 {
			s.slowdown--
		}
		if a.Steady {
			a.After <<= s.slowdown
		}
		s.quota = s.applyAllowance(a, now)
		g.releaseWaiters(p.model, now)
	})
}

func (s *modelQuota) markAnswered(p *slot) {
	if !p.quotaReported {
		p.quotaReported = true
		s.unanswered--
	}
}

func (w *waiter) mustWait(s *modelQuota, now time.Time) bool { return s.isSpent() && now.Before(w.due) }

func (g *Gate) holdWaiter(s *modelQuota, w *waiter, now time.Time) {
	s.waiting[w.class].addWaiter(w)
	g.scheduleRelease(s, w.model, now)
}

// releaseWaiters releases held requests that are due or within quota.
func (g *Gate) releaseWaiters(model string, now time.Time) {
	s := g.quotaFor(model, now)
	left := s.left
	for class := range s.waiting {
		for q := &s.waiting[class]; len(*q) > 0 && !now.Before((*q)[0].due); left-- {
			g.waiting[class].addWaiter(heap.Pop(q).(*waiter))
		}
	}
	for s.heldCount() > 0 && (left > 0 || !s.bound) {
		var class int
		class, s.passed = pickClass(s.passed, len(s.waiting[0]) > 0, len(s.waiting[1]) > 0)
		g.waiting[class].addWaiter(heap.Pop(&s.waiting[class]).(*waiter))
		left--
	}
	g.scheduleRelease(s, model, now)
	g.grantSlots(now)
}

func (g *Gate) scheduleRelease(s *modelQuota, model string, now time.Time) {
	at := s.refillAt
	for _, q := range s.waiting {
		if len(q) > 0 && q[0].due.Before(at) {
			at = q[0].due
		}
	}
	switch wait := max(0, at.Sub(now)); {
	case s.heldCount() == 0:
		if s.timer != nil {
			s.timer.Stop()
		}
	case s.timer != nil:
		s.timer.Reset(wait)
	default:
		s.timer = time.AfterFunc(wait, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.quotas[model] == s {
				g.releaseWaiters(model, time.Now())
			}
		})
	}
}

func (s *modelQuota) isIdle() bool {
	return s.unanswered == 0 && s.heldCount() == 0
}

func (s *modelQuota) heldCount() int { return len(s.waiting[0]) + len(s.waiting[1]) }

// An Allowance is a provider's hint on how many more requests it accepts.
type Allowance struct {
	Requests int           // accepted now; not negative
	After    time.Duration // until more are accepted; positive
	Steady   bool          // one more after each After; otherwise unknown after it
}

type allowanceKey struct{}

// WithAllowance returns a context with which adapters call tell before they read an
// answer.
func WithAllowance(ctx context.Context, tell func(Allowance)) context.Context {
	return context.WithValue(ctx, allowanceKey{}, tell)
}

// AllowanceOf returns WithAllowance's function, or nil.
func AllowanceOf(ctx context.Context) func(Allowance) {
	tell, _ := ctx.Value(allowanceKey{}).(func(Allowance))
	return tell
}
