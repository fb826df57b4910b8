package llm

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"sync"
	"time"
)

// A GateConfig configures a [Gate]. Its zero value is a good one.
type GateConfig struct {
	// MaxConcurrent is how many requests may be in flight at most. Zero means 16.
	MaxConcurrent int

	// MaxWait is how long a request waits for the end of a rate limit before it
	// is sent. If the limit lasts longer it fails at once, and says when to come
	// back. If there is no limit yet but nothing left, it is sent after that time
	// all the same. Zero means 10 seconds, negative not at all.
	MaxWait time.Duration

	// The breaker of a model opens when, of at least MinRequests requests in a
	// Window, the share FailureRate or more failed. After CoolDown one request
	// is let through to find out. Zero means 1 minute, 10, 0.5 and 30 seconds;
	// CoolDown is never less than that.
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

// A Gate limits what is in flight to one provider. It is safe for concurrent use.
//
// At most MaxConcurrent requests are in flight; the others wait their turn, first
// come first served, interactive ones before those of [Request].Background,
// which get one turn in five while both wait. A request keeps its place until its
// stream ends. A rate limit (429) halves the number that may be in flight, each
// full round of successes raises it by one. A rate limit that says how long it
// lasts keeps back the requests to that model until then.
//
// So does a provider that says, beside an answer, that it will take no more (see
// [Allowance]), and no more are sent than it says are left. That is a guess of what
// it would answer: it halves nothing, counts as no failure and refuses nobody.
//
// Each model has a circuit breaker. Failures of the server, the connection and
// the stream open it, and then requests fail at once with an [*Error] of the
// last failure's class. Its RetryAfter, and that of the failures that opened it,
// says when to come back. A refused key or
// an exhausted account (401, 402, 403) opens it until [Gate.Reset]. Rate limits,
// requests that the provider does not like, and cancelled ones do not count.
//
// A request that the gate refuses was not sent: it has cost nothing.
//
// A request that may be hedged ([Request].Hedge) and says nothing for longer than 95 in
// 100 of those to its model did is made a second time, if there is a place for it at
// once and the breaker is closed; so are at most one in twenty. The answer is that of
// the one that begins first, the other one is ended, and both are in its usage. If both
// fail it is one failure, so that a hedge takes nothing from the retries.
type Gate struct {
	cfg GateConfig

	mu       sync.Mutex
	lane     lane
	tickets  uint64
	waiting  [2]queue // interactive, background
	breakers map[string]breaker
	stands   map[string]*stand // of models that were asked of late
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

// Provider returns p behind the gate: its models and embeddings. Check is let
// through.
func (g *Gate) Provider(p Provider) Provider { return gatedProvider{p, g} }

// Model returns m behind the gate.
func (g *Gate) Model(m Model) Model { return &gatedModel{m, g} }

// Reset forgets all failures, denials and rate limits, for when the
// configuration has changed. Requests in flight stay counted.
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

// Forgive forgets denials, for when a user says that a key or an account is mended: the next
// request finds out.
func (g *Gate) Forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.breakers, func(_ string, b breaker) bool { return b.state == breakerDenied })
}

// A GateLoad says how busy a gate is.
type GateLoad struct {
	Limit    int // requests that may be in flight
	InFlight int
	Waiting  int // for a place; those that wait for the end of a rate limit apart
}

// Load returns how busy the gate is.
func (g *Gate) Load() GateLoad {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateLoad{Limit: g.lane.limit, InFlight: g.lane.inFlight, Waiting: len(g.waiting[0]) + len(g.waiting[1])}
}

// admits reports whether a request to a model would be sent now, or in a moment, or when.
func (g *Gate) admits(model string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, a := g.breakers[model].ask(time.Now())
	if a.refuse != nil {
		return a.refuse.RetryAfter, false
	}
	return a.wait, a.wait <= probeWait
}

// An entry is a request that wants to get in.
type entry struct {
	model  string
	class  int       // of waiting
	ticket uint64    // its place in the order, drawn when it first asks
	since  time.Time // when it first asked
}

// A pass is the place of a request in flight.
type pass struct {
	model    string
	probe    bool
	started  time.Time
	waiter   *waiter // set while the place is not yet had
	answered bool    // the provider has said what is left after it
	left     bool
}

// enter waits until a request to a model may be sent.
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

// admit lets a request in or into the queue, or says how long it has to wait
// before it asks again, or why it is refused.
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
	if s.held() > 0 { // what is left now is for those who came before
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

// await waits until p has its place, or has to ask again.
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
	case p.probe: // let another find out
		g.breakers[p.model] = g.breakers[p.model].done(outcomeUnknown, nil, true, p.started, g.cfg)
	case err != nil && g.stands[p.model] != nil: // let another have what was left for it
		g.relieve(p.model, p.started)
	}
	return false, err
}

// grant lets in who may go, so that nobody waits while there is a place. The
// gate is locked.
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

// leave ends a request. Only the first call for a pass counts.
func (g *Gate) leave(p *pass, o outcome, err error) {
	if p.left {
		return
	}
	p.left = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(p, o, err)
}

// end is leave for a locked gate.
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

// alive tells the breaker of a probe that the provider answers, without waiting
// for the end of the stream.
func (g *Gate) alive(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(p, outcomeGood, nil, time.Now())
	p.probe = false
}

// note tells the breaker of an outcome. If requests to the model cannot go on as
// they are, those that wait ask again.
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

// told returns the error of a request that was made, which says when to come back if the
// breaker is open now.
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

// maxBreakers bounds how many models a gate remembers.
const maxBreakers = 1000

// forget makes room for another breaker.
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

// cancelledWaiting returns the error of a request whose ctx ended before it was sent.
func cancelledWaiting(ctx context.Context, model string) *Error {
	return &Error{Class: Cancelled, Model: model, Message: "cancelled before it was asked", Err: context.Cause(ctx), Unsent: true}
}

// sleep waits for d or the end of ctx.
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
