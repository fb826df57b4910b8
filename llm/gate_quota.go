package llm

import (
	"container/heap"
	"context"
	"time"
)

// A quota is how many requests a provider will still take, as far as it says. It is a
// value: each change returns the quota after it. The zero quota has no bound.
type quota struct {
	bound  bool
	left   int           // requests that may be sent until then
	until  time.Time     // when there are more
	each   time.Duration // steady: there is one more that often; else zero, and then there is no bound any more
	unsaid int           // requests sent whose answers have not begun: the provider may not have counted them
}

// at returns the quota with what has come to it by now.
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

// told returns the quota after the provider said what it allows.
func (q quota) told(a Allowance, now time.Time) quota {
	after := max(a.After, time.Millisecond)
	q = quota{bound: true, left: max(0, a.Requests-q.unsaid), until: now.Add(after), unsaid: q.unsaid}
	if a.Steady {
		q.each = after
	}
	return q
}

// sent returns the quota after one more request.
func (q quota) sent() quota {
	q.left = max(0, q.left-1)
	q.unsaid++
	return q
}

func (q quota) spent() bool { return q.bound && q.left == 0 }

// A stand is how a model stands with its provider, and the requests to it that wait
// because nothing is left.
type stand struct {
	quota
	waiting [2]queue // interactive, background
	passed  int      // as in a lane
	timer   *time.Timer

	// slow is by how many doublings there is more later than the provider says, for what
	// it says of a steady limit may be of another one than it goes by.
	slow int
}

// maxSlow bounds slow: then the wait is a thousand times what was said.
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

// hearing returns a context with which adapters tell the gate what is left for a request's model.
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

// answered notes that the provider has counted a request.
func (s *stand) answered(p *pass) {
	if !p.answered {
		p.answered = true
		s.unsaid--
	}
}

// waits reports whether a request has to wait for more.
func (w *waiter) waits(s *stand, now time.Time) bool { return s.spent() && now.Before(w.due) }

// hold keeps a request back until there is more, or it has waited long enough.
func (g *Gate) hold(s *stand, w *waiter, now time.Time) {
	s.waiting[w.class].add(w)
	g.schedule(s, w.model, now)
}

// relieve lets those go on that need not wait any more.
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

// schedule sees to it that those who wait are let go on in time.
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

// idle reports whether nothing is lost by forgetting s but a hint.
func (s *stand) idle() bool {
	return s.unsaid == 0 && s.held() == 0
}

// held returns how many requests are kept back.
func (s *stand) held() int { return len(s.waiting[0]) + len(s.waiting[1]) }

// An Allowance is what a provider says, beside an answer or a refusal, that it will
// still take before it limits the rate. It is a hint: the provider is the judge.
type Allowance struct {
	Requests int           // that it takes, not negative
	After    time.Duration // until it takes more, positive
	Steady   bool          // it takes one more each time After has passed; else as many as ever after it
}

type allowanceKey struct{}

// WithAllowance returns a context with which adapters tell what a provider says it will
// still take, each time it says so and before the answer is read.
func WithAllowance(ctx context.Context, tell func(Allowance)) context.Context {
	return context.WithValue(ctx, allowanceKey{}, tell)
}

// AllowanceOf returns whom to tell what a provider will still take, or nil if nobody
// wants to know.
func AllowanceOf(ctx context.Context) func(Allowance) {
	tell, _ := ctx.Value(allowanceKey{}).(func(Allowance))
	return tell
}
