package llm

import (
	"cmp"
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A GateConfig configures a [Gate]. The zero value has the defaults.
type GateConfig struct {
	// MaxConcurrent is the upper bound of the limit of requests in flight. Zero means 4096.
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

// MaxConcurrent is the default of [GateConfig]. It fits into the usual limits of connections and
// open files.
const MaxConcurrent = 4096

func (c GateConfig) withDefaults() GateConfig {
	c.MaxConcurrent = max(1, cmp.Or(c.MaxConcurrent, MaxConcurrent))
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.Window = cmp.Or(c.Window, time.Minute)
	c.MinRequests = max(1, cmp.Or(c.MinRequests, 10))
	c.FailureRate = cmp.Or(c.FailureRate, 0.5)
	c.CoolDown = max(c.CoolDown, 30*time.Second)
	return c
}

// A Gate limits the requests to one provider. It is safe for concurrent use.
//
// A limit of the requests in flight, each until its stream ends, adapts to the server: it
// grows from 16 to MaxConcurrent, until the server queues requests or refuses them (429).
// The others wait in order, interactive ones before [Request].Background, which get one turn
// in five. A rate limit (429) also holds the model's requests for its duration.
//
// An [Allowance] that is used up also holds requests. As a prediction, it never halves,
// fails or refuses anything.
//
// Each model has a circuit breaker. Failures of the server, connection or stream open it.
// Requests then fail at once with the last failure's class and RetryAfter. After a refused
// key or account (401, 402, 403), one request at a time tests the model while the others
// wait. After three refusals in a row, requests fail at once until the next probe, which
// comes after 5 seconds or later, up to 5 minutes. [Gate.ResetAuthErrors] admits it at once.
// Rate limits, invalid requests and cancellations do not count. Refused requests were not
// sent and cost nothing.
//
// A [Request].Hedge is sent twice if its first delta is later than the 95th percentile, a
// slot is free, and the breaker is closed. At most one request in twenty is. The first to
// start wins; usage counts both; two failures count as one.
type Gate struct {
	cfg GateConfig

	mu        sync.Mutex
	lane      lane
	limiter   limiter
	tickets   uint64
	waiting   [2]queue // interactive, background
	breakers  map[string]breaker
	suspects  map[string]chan struct{} // closed at the result of a suspect model's probe
	quotas    map[string]*modelQuota
	latencies map[string]*latency
}

// NewGate returns a gate for one provider.
func NewGate(cfg GateConfig) *Gate {
	cfg = cfg.withDefaults()
	return &Gate{
		cfg:       cfg,
		limiter:   newLimiter(cfg.MaxConcurrent),
		breakers:  make(map[string]breaker),
		suspects:  make(map[string]chan struct{}),
		quotas:    make(map[string]*modelQuota),
		latencies: make(map[string]*latency),
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
	for model := range g.suspects {
		g.endSuspense(model)
	}
	g.limiter = newLimiter(g.cfg.MaxConcurrent)
	now := time.Now()
	for model, s := range g.quotas {
		s.quota, s.slowdown = quota{unanswered: s.unanswered}, 0
		g.releaseWaiters(model, now)
	}
	g.grantSlots(now)
}

type GateLoad struct {
	Limit    int // maximum in flight
	InFlight int
	Waiting  int // for a slot, not for a rate limit
}

func (g *Gate) Load() GateLoad {
	g.mu.Lock()
	defer g.mu.Unlock()
	return GateLoad{Limit: g.limiter.current(), InFlight: g.lane.inFlight, Waiting: g.waitingCount()}
}

func (g *Gate) availability(model string) (wait time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, a := g.breakers[model].checkAdmission(time.Now())
	if a.refusal != nil {
		return a.refusal.RetryAfter, false
	}
	return a.wait, a.suspect || a.wait <= probeWait
}

type queueEntry struct {
	model    string
	class    int    // index into Gate.waiting
	ticket   uint64 // order, drawn at the first admit
	queuedAt time.Time
}

func (g *Gate) waitingCount() int { return len(g.waiting[0]) + len(g.waiting[1]) }

func (g *Gate) hasSlot() bool { return g.lane.inFlight < g.limiter.current() }

// A slot is the permission for one request in flight.
type slot struct {
	model         string
	probe         bool
	started       time.Time
	inFlight      int           // with it at the start
	heldUntil     *atomic.Int64 // nanoseconds after started; nil: not held
	first         time.Duration // from the request to its first output; zero before it
	waiter        *waiter       // until granted
	quotaReported bool          // the quota was reported
	released      bool
}

// acquireSlot blocks until the request has a slot.
func (g *Gate) acquireSlot(ctx context.Context, model string, background bool) (*slot, error) {
	e := queueEntry{model: model}
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
			err = wait.sleep(ctx)
		case p.waiter == nil:
			return p, nil
		default:
			in, err := g.awaitNoticed(ctx, p)
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

// A pause is the wait before the next admit: a duration, or less if over is closed.
type pause struct {
	time.Duration
	over <-chan struct{} // may be nil
}

func (p pause) sleep(ctx context.Context) error {
	t := time.NewTimer(p.Duration)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// admit returns a granted or queued slot, the pause before the next admit, or the refusal.
func (g *Gate) admit(e *queueEntry) (*slot, pause, error) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.ticket == 0 {
		g.tickets++
		e.ticket, e.queuedAt = g.tickets, now
	}
	b, ok := g.breakers[e.model]
	if !ok {
		g.dropIdle(now)
	}
	b, a := b.checkAdmission(now)
	g.breakers[e.model] = b
	switch {
	case a.refusal != nil:
		a.refusal.Model = e.model
		return nil, pause{}, a.refusal
	case a.suspect:
		if g.suspects[e.model] == nil {
			g.suspects[e.model] = make(chan struct{})
		}
		return nil, pause{a.wait, g.suspects[e.model]}, nil
	case a.wait > 0 && now.Add(a.wait).Sub(e.queuedAt) > g.cfg.MaxWait:
		return nil, pause{}, &Error{Class: RateLimited, Model: e.model,
			Message: "not sent: the rate limit of the model is still reached", RetryAfter: a.wait, Unsent: true}
	case a.wait > 0:
		return nil, pause{Duration: a.wait}, nil
	}
	p := &slot{model: e.model, probe: a.probe, started: now}
	w := &waiter{ticket: e.ticket, model: e.model, class: e.class, due: e.queuedAt.Add(g.cfg.MaxWait), woken: make(chan struct{})}
	if p.probe {
		w.due = now
	}
	s := g.quotaFor(e.model, now)
	if s.heldCount() > 0 { // earlier requests own the quota
		g.releaseWaiters(e.model, now)
	}
	switch {
	case w.mustWait(s, now):
		g.holdWaiter(s, w, now)
	case g.hasSlot():
		g.lane.inFlight++
		p.inFlight = g.lane.inFlight
		s.quota = s.countSent()
		return p, pause{}, nil
	default:
		g.waiting[w.class].addWaiter(w)
	}
	p.waiter = w
	return p, pause{}, nil
}

type waitKey struct{}

// WithWaitNotice returns a context with which a gate calls notice before and after a request
// waits for its turn.
func WithWaitNotice(ctx context.Context, notice func(waits bool)) context.Context {
	return context.WithValue(ctx, waitKey{}, notice)
}

// awaitNoticed is awaitSlot with the notice of the context.
func (g *Gate) awaitNoticed(ctx context.Context, p *slot) (in bool, err error) {
	if notice, _ := ctx.Value(waitKey{}).(func(bool)); notice != nil {
		notice(true)
		defer notice(false)
	}
	return g.awaitSlot(ctx, p)
}

// awaitSlot blocks until p is granted (in) or must call admit again.
func (g *Gate) awaitSlot(ctx context.Context, p *slot) (in bool, err error) {
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
	p.waiter, p.started, p.inFlight = nil, time.Now(), g.lane.inFlight
	switch {
	case w.admitted && err == nil:
		return true, nil
	case w.admitted:
		g.releaseLocked(p, outcomeUnknown, nil)
	case p.probe: // let another request probe
		g.recordOutcome(p, outcomeUnknown, nil, p.started)
	case err != nil && g.quotas[p.model] != nil: // pass the quota on
		g.releaseWaiters(p.model, p.started)
	}
	return false, err
}

// grantSlots admits waiters while slots are free. g.mu is locked.
func (g *Gate) grantSlots(now time.Time) {
	for g.hasSlot() && g.waitingCount() > 0 {
		next, class := g.lane.next(len(g.waiting[0]) > 0, len(g.waiting[1]) > 0)
		w := heap.Pop(&g.waiting[class]).(*waiter)
		s := g.quotaFor(w.model, now)
		if w.mustWait(s, now) {
			g.holdWaiter(s, w, now)
			continue
		}
		g.lane, s.quota = next, s.countSent()
		w.admitted = true
		close(w.woken)
	}
}

// releaseSlot ends a request, once.
func (g *Gate) releaseSlot(p *slot, o outcome, err error) {
	if p.released {
		return
	}
	p.released = true
	g.mu.Lock()
	defer g.mu.Unlock()
	g.releaseLocked(p, o, err)
}

// releaseLocked is leave with g.mu locked.
func (g *Gate) releaseLocked(p *slot, o outcome, err error) {
	now := time.Now()
	g.lane.inFlight--
	switch {
	case o == outcomeLimited:
		g.limiter.observeRefusal(p.sentAt(), g.lane.inFlight, now)
	case o == outcomeGood && p.first > 0:
		g.limiter.observeWriting(now.Sub(p.sentAt()) - p.first)
	}
	s := g.quotaFor(p.model, now)
	s.markAnswered(p)
	switch {
	case !s.bound && s.isIdle():
		delete(g.quotas, p.model)
	case o == outcomeLimited:
		s.slowdown = min(s.slowdown+1, maxSlow)
	}
	g.recordOutcome(p, o, err, now)
	g.grantSlots(now)
}

// noteFirst reports the first output of a request: it is a probe's success, and shows the latency.
func (g *Gate) noteFirst(p *slot) {
	now, sent := time.Now(), p.sentAt()
	p.first = max(now.Sub(sent), 1)
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe {
		g.recordOutcome(p, outcomeGood, nil, now)
		p.probe = false
	}
	g.limiter.observeFirst(firstOutput{p.model, sent, p.first, p.inFlight, g.waitingCount() > 0}, now)
	g.grantSlots(now)
}

// recordOutcome reports an outcome. If the model got worse, waiters call admit again.
func (g *Gate) recordOutcome(p *slot, o outcome, err error, now time.Time) {
	if o == outcomeUnknown && !p.probe {
		return
	}
	var e *Error
	if err != nil {
		e = asError(err, p.model)
	}
	before := g.breakers[p.model]
	after := before.recordOutcome(verdict{o, e, p.probe, now, rand.Float64()}, g.cfg)
	g.breakers[p.model] = after
	if !after.probing || after.state != before.state {
		g.endSuspense(p.model)
	}
	if after.state != breakerClosed && after.state != before.state || after.limited.After(before.limited) {
		for class := range g.waiting {
			g.waiting[class].wakeAll(p.model)
			if s := g.quotas[p.model]; s != nil {
				s.waiting[class].wakeAll(p.model)
			}
		}
	}
}

// addRetryAfter adds the open breaker's RetryAfter.
func (g *Gate) addRetryAfter(model string, err error) error {
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

func (g *Gate) dropIdle(now time.Time) {
	if len(g.breakers) < maxBreakers {
		return
	}
	for model, b := range g.breakers {
		if b.isIdle(now, g.cfg) || len(g.breakers) >= 2*maxBreakers {
			delete(g.breakers, model)
		}
	}
	for model, s := range g.quotas {
		if s.isIdle() {
			delete(g.quotas, model)
		}
	}
}

func cancelledWaiting(ctx context.Context, model string) *Error {
	return &Error{Class: Cancelled, Model: model, Message: "cancelled before the request was sent", Err: context.Cause(ctx), Unsent: true}
}
