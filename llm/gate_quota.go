package llm

import (
	"container/heap"
	"context"
	"time"
)

// A quota predicts how many requests a provider accepts. It is a value: each change
// returns the next quota. Zero is unbounded.
type quota struct {
	bound  bool
	left   int
	until  time.Time     // next refill
	each   time.Duration // interval of one more; zero: unbounded from until on
	unsaid int           // unanswered, perhaps not counted yet
}

func (q quota) at(now time.Time) quota {
	switch {
	case !q.bound || now.Before(q.until):
		return q
	case q.each == 0:
		return quota{unsaid: q.unsaid}
	}
	n := now.Sub(q.until)/q.each + 1
	q.left, q.until = q.left+int(n), q.until.Add(n*q.each)
	return q
}

func (q quota) told(a Allowance, now time.Time) quota {
	after := max(a.After, time.Millisecond)
	q = quota{bound: true, left: max(0, a.Requests-q.unsaid), until: now.Add(after), unsaid: q.unsaid}
	if a.Steady {
		q.each = after
	}
	return q
}

func (q quota) sent() quota {
	q.left = max(0, q.left-1)
	q.unsaid++
	return q
}

func (q quota) spent() bool { return q.bound && q.left == 0 }

// A stand is one model's quota with the requests it holds.
type stand struct {
	quota
	waiting [2]queue // interactive, background
	passed  int      // as in lane
	timer   *time.Timer

	// slow doubles the reported interval that often, because providers may enforce
	// another limit than they report.
	slow int
}

const maxSlow = 10

func (g *Gate) stand(model string, now time.Time) *stand {
	s := g.stands[model]
	if s == nil {
		s = &stand{}
		g.stands[model] = s
	}
	s.quota = s.at(now)
	return s
}

// hearing returns a context whose allowances go to the gate.
func (g *Gate) hearing(ctx context.Context, p *pass) context.Context {
	return WithAllowance(ctx, func(a Allowance) {
		now := time.Now()
		g.mu.Lock()
		defer g.mu.Unlock()
		s := g.stand(p.model, now)
		s.answered(p)
		if a.Steady && a.Requests > 2 && s.slow > 0 {
			s.slow--
		}
		if a.Steady {
			a.After <<= s.slow
		}
		s.quota = s.told(a, now)
		g.relieve(p.model, now)
	})
}

func (s *stand) answered(p *pass) {
	if !p.answered {
		p.answered = true
		s.unsaid--
	}
}

func (w *waiter) waits(s *stand, now time.Time) bool { return s.spent() && now.Before(w.due) }

func (g *Gate) hold(s *stand, w *waiter, now time.Time) {
	s.waiting[w.class].add(w)
	g.schedule(s, w.model, now)
}

// relieve releases held requests that are due or within quota.
func (g *Gate) relieve(model string, now time.Time) {
	s := g.stand(model, now)
	left := s.left
	for class := range s.waiting {
		for q := &s.waiting[class]; len(*q) > 0 && !now.Before((*q)[0].due); left-- {
			g.waiting[class].add(heap.Pop(q).(*waiter))
		}
	}
	for s.held() > 0 && (left > 0 || !s.bound) {
		var class int
		class, s.passed = turn(s.passed, len(s.waiting[0]) > 0, len(s.waiting[1]) > 0)
		g.waiting[class].add(heap.Pop(&s.waiting[class]).(*waiter))
		left--
	}
	g.schedule(s, model, now)
	g.grant(now)
}

func (g *Gate) schedule(s *stand, model string, now time.Time) {
	at := s.until
	for _, q := range s.waiting {
		if len(q) > 0 && q[0].due.Before(at) {
			at = q[0].due
		}
	}
	switch wait := max(0, at.Sub(now)); {
	case s.held() == 0:
		if s.timer != nil {
			s.timer.Stop()
		}
	case s.timer != nil:
		s.timer.Reset(wait)
	default:
		s.timer = time.AfterFunc(wait, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.stands[model] == s {
				g.relieve(model, time.Now())
			}
		})
	}
}

func (s *stand) idle() bool {
	return s.unsaid == 0 && s.held() == 0
}

func (s *stand) held() int { return len(s.waiting[0]) + len(s.waiting[1]) }

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
