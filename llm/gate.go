package llm

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"sync"
	"time"
)

// A GateConfig configures a [Gate]. The zero value has the defaults.
type GateConfig struct {
	// MaxConcurrent limits requests in flight. Zero means 16.
	MaxConcurrent int

	// MaxWait limits the wait for a rate limit. A longer limit fails the request at once
	// with RetryAfter; a predicted one lets it go after MaxWait. Zero means 10 seconds,
	// negative no wait.
	MaxWait time.Duration

	// Window, MinRequests, FailureRate and CoolDown set a model's breaker. It opens when
	// FailureRate of at least MinRequests failed in a Window, and admits a probe after
	// CoolDown. Zero means 1 minute, 10, 0.5 and 30 seconds, the minimum of CoolDown.
	Window      time.Duration
	MinRequests int
	FailureRate float64
	CoolDown    time.Duration
}

func (c GateConfig) withDefaults() GateConfig {
	c.MaxConcurrent = max(1, cmp.Or(c.MaxConcurrent, 16))
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.Window = cmp.Or(c.Window, time.Minute)
	c.MinRequests = max(1, cmp.Or(c.MinRequests, 10))
	c.FailureRate = cmp.Or(c.FailureRate, 0.5)
	c.CoolDown = max(c.CoolDown, 30*time.Second)
	return c
}

// A Gate limits the requests to one provider. It is safe for concurrent use.
//
// At most MaxConcurrent requests are in flight, each until its stream ends. The others
// wait in order, interactive ones before [Request].Background, which get one turn in
// five. A rate limit (429) halves the concurrency and holds the model's requests for its
// duration; each full round of successes adds one.
//
// An [Allowance] that is used up also holds requests. As a prediction, it never halves,
// fails or refuses anything.
//
// Each model has a circuit breaker. Failures of the server, connection or stream open it.
// Requests then fail at once with the last failure's class and RetryAfter. A refused key
// or account (401, 402, 403) opens the breaker until [Gate.Reset]. Rate limits, invalid
// requests and cancellations do not count. Refused requests were not sent and cost
// nothing.
//
// A [Request].Hedge is sent twice if its first delta is later than the 95th percentile, a
// slot is free, and the breaker is closed. At most one request in twenty is. The first to
// start wins; usage counts both; two failures count as one.
type Gate struct {
	cfg GateConfig

	mu       sync.Mutex
	lane     lane
	tickets  uint64
	waiting  [2]queue // interactive, background
	breakers map[string]breaker
	stands   map[string]*stand
	paces    map[string]*pace
}

// NewGate returns a gate for one provider.
func NewGate(cfg GateConfig) *Gate {
	cfg = cfg.withDefaults()
	return &Gate{
		cfg:      cfg,
		lane:     lane{max: cfg.MaxConcurrent, limit: cfg.MaxConcurrent},
		breakers: make(map[string]breaker),
		stands:   make(map[string]*stand),
		paces:    make(map[string]*pace),
	}
}

// Provider returns p with its models and embeddings behind the gate. Check passes freely.
func (g *Gate) Provider(p Provider) Provider { return gatedProvider{p, g} }

// Model returns m behind the gate.
func (g *Gate) Model(m Model) Model { return &gatedModel{m, g} }

// Reset clears failures, denials and rate limits. Requests in flight stay counted.
func (g *Gate) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.breakers)
	g.lane.limit = g.lane.max
	now := time.Now()
	for model, s := range g.stands {
		s.quota, s.slow = quota{unsaid: s.unsaid}, 0
		g.relieve(model, now)
	}
	g.grant(now)
}

// Forgive clears denials, so that the next request tests a repaired key.
func (g *Gate) Forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.breakers, func(_ string, b breaker) bool { return b.state == breakerDenied })
}

type GateLoad struct {
	Limit    int // maximum in flight
	InFlight int
	Waiting  int // for a slot, not for a rate limit
}

func (g *Gate) Load() GateLoad {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateLoad{Limit: g.lane.limit, InFlight: g.lane.inFlight, Waiting: len(g.waiting[0]) + len(g.waiting[1])}
}

func (g *Gate) admits(model string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, a := g.breakers[model].ask(time.Now())
	if a.refuse != nil {
		return a.refuse.RetryAfter, false
	}
	return a.wait, a.wait <= probeWait
}

type entry struct {
	model  string
	class  int    // index into Gate.waiting
	ticket uint64 // order, drawn at the first admit
	since  time.Time
}

// A pass is a slot.
type pass struct {
	model    string
	probe    bool
	started  time.Time
	waiter   *waiter // until granted
	answered bool    // the quota was reported
	left     bool
}

// enter blocks until the request has a slot.
func (g *Gate) enter(ctx context.Context, model string, background bool) (*pass, error) {
	e := entry{model: model}
	if background {
		e.class = 1
	}
	for {
		if ctx.Err() != nil {
			return nil, cancelledWaiting(ctx, model)
		}
		p, wait, err := g.admit(&e)
		switch {
		case err != nil:
			return nil, err
		case p == nil:
			err = sleep(ctx, wait)
		case p.waiter == nil:
			return p, nil
		default:
			in, err := g.await(ctx, p)
			if err != nil {
				return nil, err
			}
			if in {
				return p, nil
			}
		}
		if err != nil {
			return nil, cancelledWaiting(ctx, model)
		}
	}
}

// admit returns a granted or queued slot, the wait before the next admit, or the refusal.
func (g *Gate) admit(e *entry) (*pass, time.Duration, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.ticket == 0 {
		g.tickets++
		e.ticket, e.since = g.tickets, now
	}
	b, ok := g.breakers[e.model]
	if !ok {
		g.forget(now)
	}
	b, a := b.ask(now)
	g.breakers[e.model] = b
	switch {
	case a.refuse != nil:
		a.refuse.Model = e.model
		return nil, 0, a.refuse
	case a.wait > 0 && now.Add(a.wait).Sub(e.since) > g.cfg.MaxWait:
		return nil, 0, &Error{Class: RateLimited, Model: e.model,
			Message: "not asked, for its rate limit is not over yet", RetryAfter: a.wait, Unsent: true}
	case a.wait > 0:
		return nil, a.wait, nil
	}
	p := &pass{model: e.model, probe: a.probe, started: now}
	w := &waiter{ticket: e.ticket, model: e.model, class: e.class, due: e.since.Add(g.cfg.MaxWait), woken: make(chan struct{})}
	if p.probe {
		w.due = now
	}
	s := g.stand(e.model, now)
	if s.held() > 0 { // earlier requests own the quota
		g.relieve(e.model, now)
	}
	switch {
	case w.waits(s, now):
		g.hold(s, w, now)
	case g.lane.free():
		g.lane.inFlight++
		s.quota = s.sent()
		return p, 0, nil
	default:
		g.waiting[w.class].add(w)
	}
	p.waiter = w
	return p, 0, nil
}

// await blocks until p is granted (in) or must call admit again.
func (g *Gate) await(ctx context.Context, p *pass) (in bool, err error) {
	w := p.waiter
	select {
	case <-w.woken:
	case <-ctx.Done():
		err = cancelledWaiting(ctx, p.model)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(w.queue, w.index)
	}
	p.waiter, p.started = nil, time.Now()
	switch {
	case w.in && err == nil:
		return true, nil
	case w.in:
		g.end(p, outcomeUnknown, nil)
	case p.probe: // let another request probe
		g.breakers[p.model] = g.breakers[p.model].done(outcomeUnknown, nil, true, p.started, g.cfg)
	case err != nil && g.stands[p.model] != nil: // pass the quota on
		g.relieve(p.model, p.started)
	}
	return false, err
}

// grant admits waiters while slots are free. g.mu is locked.
func (g *Gate) grant(now time.Time) {
	for g.lane.free() && len(g.waiting[0])+len(g.waiting[1]) > 0 {
		next, class := g.lane.next(len(g.waiting[0]) > 0, len(g.waiting[1]) > 0)
		w := heap.Pop(&g.waiting[class]).(*waiter)
		s := g.stand(w.model, now)
		if w.waits(s, now) {
			g.hold(s, w, now)
			continue
		}
		g.lane, s.quota = next, s.sent()
		w.in = true
		close(w.woken)
	}
}

// leave ends a request, once.
func (g *Gate) leave(p *pass, o outcome, err error) {
	if p.left {
		return
	}
	p.left = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(p, o, err)
}

// end is leave with g.mu locked.
func (g *Gate) end(p *pass, o outcome, err error) {
	now := time.Now()
	g.lane = g.lane.done(o, p.started, now)
	s := g.stand(p.model, now)
	s.answered(p)
	switch {
	case !s.bound && s.idle():
		delete(g.stands, p.model)
	case o == outcomeLimited:
		s.slow = min(s.slow+1, maxSlow)
	}
	g.note(p, o, err, now)
	g.grant(now)
}

// alive reports a probe's success before its stream ends.
func (g *Gate) alive(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(p, outcomeGood, nil, time.Now())
	p.probe = false
}

// note reports an outcome. If the model got worse, waiters call admit again.
func (g *Gate) note(p *pass, o outcome, err error, now time.Time) {
	if o == outcomeUnknown && !p.probe {
		return
	}
	var e *Error
	if err != nil {
		e = asError(err, p.model)
	}
	before := g.breakers[p.model]
	after := before.done(o, e, p.probe, now, g.cfg)
	g.breakers[p.model] = after
	if after.state != breakerClosed && before.state == breakerClosed || after.state == breakerDenied || after.limited.After(before.limited) {
		for class := range g.waiting {
			g.waiting[class].wakeAll(p.model)
			if s := g.stands[p.model]; s != nil {
				s.waiting[class].wakeAll(p.model)
			}
		}
	}
}

// told adds the open breaker's RetryAfter.
func (g *Gate) told(model string, err error) error {
	if err == nil || outcomeOf(err) != outcomeFailed {
		return err
	}
	g.mu.Lock()
	b := g.breakers[model]
	g.mu.Unlock()
	e := *asError(err, model)
	if e.RetryAfter = max(e.RetryAfter, time.Until(b.until)); b.state != breakerOpen || e.RetryAfter <= 0 {
		return err
	}
	return &e
}

const maxBreakers = 1000

func (g *Gate) forget(now time.Time) {
	if len(g.breakers) < maxBreakers {
		return
	}
	for model, b := range g.breakers {
		if b.idle(now, g.cfg) || len(g.breakers) >= 2*maxBreakers {
			delete(g.breakers, model)
		}
	}
	for model, s := range g.stands {
		if s.idle() {
			delete(g.stands, model)
		}
	}
}

func cancelledWaiting(ctx context.Context, model string) *Error {
	return &Error{Class: Cancelled, Model: model, Message: "cancelled before it was asked", Err: context.Cause(ctx), Unsent: true}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
