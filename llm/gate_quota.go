package llm

import (
	"container/heap"
	"context"
	"time"
)

// A quota predicts how many requests a provider still accepts. It is a value: each change
// returns the next quota. The zero quota is unbounded.
type quota struct {
	bound  bool
	left   int           // requests left until then
	until  time.Time     // time of the next refill
	each   time.Duration // steady: interval of one more request; if zero, the bound ends at until
	unsaid int           // unanswered requests, which the provider may not have counted
}

// at returns the quota at now.
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

// told returns the quota after a report of the provider.
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

// A stand is the quota of one model, with the requests it holds.
type stand struct {
	quota
	waiting [2]queue // interactive, background
	passed  int      // as in lane
	timer   *time.Timer

	// slow doubles the reported interval that many times, because a provider may report
	// another steady limit than it enforces.
	slow int
}

// maxSlow limits the factor to about a thousand.
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

// hearing returns a context in which adapters report allowances to the gate.
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

// answered notes that the provider has counted p.
func (s *stand) answered(p *pass) {
	if !p.answered {
		p.answered = true
		s.unsaid--
	}
}

// waits reports whether the quota holds w.
func (w *waiter) waits(s *stand, now time.Time) bool { return s.spent() && now.Before(w.due) }

// hold queues w until the quota has room or w is due.
func (g *Gate) hold(s *stand, w *waiter, now time.Time) {
	s.waiting[w.class].add(w)
	g.schedule(s, w.model, now)
}

// relieve moves requests that are due or within the quota to the lane's queues.
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

// schedule sets the timer for the next relieve.
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

// idle reports whether deleting s loses only a hint.
func (s *stand) idle() bool {
	return s.unsaid == 0 && s.held() == 0
}

// held returns the number of held requests.
func (s *stand) held() int { return len(s.waiting[0]) + len(s.waiting[1]) }

// An Allowance is a provider's report of how many more requests it accepts before it
// limits the rate. It is only a hint.
type Allowance struct {
	Requests int           // accepted now; not negative
	After    time.Duration // until more are accepted; positive
	Steady   bool          // one more request after each After; otherwise no known limit after it
}

type allowanceKey struct{}

// WithAllowance returns a context with which adapters call tell for each report, before
// they read the answer.
func WithAllowance(ctx context.Context, tell func(Allowance)) context.Context {
	return context.WithValue(ctx, allowanceKey{}, tell)
}

// AllowanceOf returns the context's report function, or nil.
func AllowanceOf(ctx context.Context) func(Allowance) {
	tell, _ := ctx.Value(allowanceKey{}).(func(Allowance))
	return tell
}
