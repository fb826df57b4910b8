package llm

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"sync"
	"time"
)

// A GateConfig configures a [Gate]. The zero value uses the defaults.
type GateConfig struct {
	// MaxConcurrent limits the requests in flight. Zero means 16.
	MaxConcurrent int

	// MaxWait limits how long a request waits for the end of a rate limit. If the limit
	// lasts longer, the request fails at once with a RetryAfter. If the quota is only
	// believed to be used up, the request is sent after MaxWait. Zero means 10 seconds,
	// negative no wait.
	MaxWait time.Duration

	// A model's breaker opens when a Window has at least MinRequests requests and the
	// share FailureRate of them failed. After CoolDown it lets one probe through. Zero
	// means 1 minute, 10, 0.5 and 30 seconds; CoolDown is at least 30 seconds.
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

// A Gate limits the requests in flight to one provider. It is safe for concurrent use.
//
// At most MaxConcurrent requests are in flight, each until its stream ends. The others
// wait in order, interactive ones before [Request].Background, which get one turn in five
// while both wait. A rate limit (429) halves the concurrency; each full round of
// successes raises it by one. A rate limit with a duration holds the requests to that
// model until then.
//
// The gate also holds requests when answers report that the quota is used up (see
// [Allowance]). That is only a prediction, so it halves nothing, counts as no failure and
// refuses no request.
//
// Each model has a circuit breaker. Failures of the server, the connection or the stream
// open it; requests then fail at once with the class and RetryAfter of the last failure.
// A refused key or exhausted account (401, 402, 403) opens it until [Gate.Reset]. Rate
// limits, invalid requests and cancelled ones do not count.
//
// A refused request was not sent and costs nothing.
//
// A hedged request ([Request].Hedge) is sent twice if its first delta takes longer than
// for 95 % of the model's requests. The gate does so only if there is a free slot and the
// breaker is closed, for at most one request in twenty. The first to start wins and the
// other is cancelled; usage counts both. If both fail, that is one failure.
type Gate struct {
	cfg GateConfig

	mu       sync.Mutex
	lane     lane
	tickets  uint64
	waiting  [2]queue // interactive, background
	breakers map[string]breaker
	stands   map[string]*stand // recently used models
	paces    map[string]*pace
}

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

func (g *Gate) Model(m Model) Model { return &gatedModel{m, g} }

// Reset clears all failures, denials and rate limits after a change of configuration.
// Requests in flight stay counted.
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

// Forgive clears denials, so that the next request tests a repaired key or account.
func (g *Gate) Forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.breakers, func(_ string, b breaker) bool { return b.state == breakerDenied })
}

type GateLoad struct {
	Limit    int // maximum in flight
	InFlight int
	Waiting  int // for a slot; excludes those held by a rate limit
}

func (g *Gate) Load() GateLoad {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateLoad{Limit: g.lane.limit, InFlight: g.lane.inFlight, Waiting: len(g.waiting[0]) + len(g.waiting[1])}
}

// admits reports whether a request would be sent within probeWait, and otherwise the
// wait.
func (g *Gate) admits(model string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, a := g.breakers[model].ask(time.Now())
	if a.refuse != nil {
		return a.refuse.RetryAfter, false
	}
	return a.wait, a.wait <= probeWait
}

// An entry is a request that asks for a slot.
type entry struct {
	model  string
	class  int       // index into Gate.waiting
	ticket uint64    // position in the order, drawn at the first admit
	since  time.Time // time of the first admit
}

// A pass is a request's slot.
type pass struct {
	model    string
	probe    bool
	started  time.Time
	waiter   *waiter // set until the slot is granted
	answered bool    // the provider reported the remaining quota
	left     bool
}

// enter blocks until the request may be sent, and returns its slot.
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

// admit returns a slot, a queued slot (with a waiter), the time to wait before the next
// admit, or the refusal.
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
	if s.held() > 0 { // the remaining quota belongs to earlier requests
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

// await blocks until p has its slot (in) or must call admit again.
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
	case err != nil && g.stands[p.model] != nil: // pass its quota on
		g.relieve(p.model, p.started)
	}
	return false, err
}

// grant admits waiting requests while slots are free. The caller holds g.mu.
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

// leave ends a request. Only the first call counts.
func (g *Gate) leave(p *pass, o outcome, err error) {
	if p.left {
		return
	}
	p.left = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end(p, o, err)
}

// end is leave with g.mu held.
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

// alive reports a probe's success to the breaker before its stream ends.
func (g *Gate) alive(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.note(p, outcomeGood, nil, time.Now())
	p.probe = false
}

// note reports an outcome to the breaker. If the model's state changed for the worse,
// waiting requests call admit again.
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

// told adds the open breaker's RetryAfter to a request's error.
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

// maxBreakers limits the models that a gate remembers.
const maxBreakers = 1000

// forget deletes idle breakers to make room.
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

// cancelledWaiting returns the error of a request that ctx ended before it was sent.
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
