package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"time"
)

// loserTime is how long a request may take to end once it is not wanted.
const loserTime = time.Second

// A rival is one of the requests of a race, made in a goroutine of its own.
type rival struct {
	stop   context.CancelCauseFunc
	sent   time.Time     // zero while it is held back, and once it has failed
	pieces chan piece    // what it says; closed when it has ended
	gone   chan struct{} // closed when nobody listens any more
	used   Usage         // to be read once it has said how it ended, or pieces is closed
	ended  bool          // it has said how; what it does after that is not heard
}

// A piece is what a rival says.
type piece struct {
	Delta
	err error
}

// errLost is why a request is ended that did not begin first.
var errLost = errors.New("another request was answered first")

// start makes a request that has its place.
func (m *gatedModel) start(ctx context.Context, p *pass, released <-chan struct{}, req *Request) *rival {
	ctx, stop := context.WithCancelCause(ctx)
	r := &rival{stop: stop, pieces: make(chan piece), gone: make(chan struct{}), used: guess(req)}
	go func() {
		defer close(r.pieces)
		defer stop(nil)
		defer func() {
			if v := recover(); v != nil {
				r.say(Delta{}, &Error{Class: Malformed, Model: m.Name(), Message: "the adapter panicked", Usage: r.used, Err: fmt.Errorf("panic: %v", v)})
			}
		}()
		m.through(ctx, p, released, req)(r.say)
	}()
	return r
}

// say hands on what a request says, and reports whether somebody wanted it.
func (r *rival) say(d Delta, err error) bool {
	if r.ended {
		return false
	}
	r.ended = err != nil || d.Done != nil
	if err != nil {
		if e := asError(err, ""); e.Class != Cancelled || e.Usage.Total() > 0 {
			r.used = e.Usage
		}
	} else if d.Done != nil {
		r.used = d.Done.Usage
	}
	select {
	case r.pieces <- piece{d, err}:
		return true
	case <-r.gone:
		return false
	}
}

// leave ends a request that is not wanted. It is called by one goroutine.
func (r *rival) leave() {
	if r != nil && r.stop != nil {
		close(r.gone)
		r.stop(errLost)
		r.stop = nil
	}
}

// usage returns what a request used that has ended or was left.
func (r *rival) usage(req *Request) Usage {
	wedged := time.After(loserTime)
	for {
		select {
		case _, more := <-r.pieces:
			if !more {
				return r.used
			}
		case <-wedged:
			return guess(req)
		}
	}
}

// guess returns a guess of what a request used that was not answered.
func guess(req *Request) Usage {
	return Usage{Input: int(math.Ceil(float64(req.Size()) * tokensPerByte)), Estimated: true}
}

// with returns the usage of two requests together. If the provider says what the first
// cost and not what the second did, that is taken to have cost as much for each token.
func (u Usage) with(o Usage) Usage {
	sum := Usage{
		Input: u.Input + o.Input, CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		Output: u.Output + o.Output, Reasoning: u.Reasoning + o.Reasoning, Estimated: u.Estimated || o.Estimated, Hedged: true,
	}
	if u.Cost != nil {
		cost := *u.Cost
		if o.Cost != nil {
			cost += *o.Cost
		} else if some := u.Total(); some > 0 {
			cost = int64(math.Ceil(float64(cost) * float64(sum.Total()) / float64(some)))
		}
		sum.Cost = &cost
	}
	return sum
}

// A race is a request, and the second one that is made if the first is slow to begin.
type race struct {
	*gatedModel
	req           *Request
	pace          *pace
	first, second *rival // second is nil if there is none
}

// hedged makes a request that has its place, and a second one if the first is slow to
// begin.
func (m *gatedModel) hedged(ctx context.Context, p *pass, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		r := &race{gatedModel: m, req: req, pace: m.gate.pace(m.Name()), first: m.start(ctx, p, released, req)}
		defer func() {
			r.first.leave()
			r.second.leave()
		}()
		winner, begins := r.run(ctx, released)
		r.tell(winner, begins, yield)
	}
}

// run waits until one of the requests says something, or both have failed. It returns
// which it was and what it said.
func (r *race) run(ctx context.Context, released <-chan struct{}) (*rival, piece) {
	var late <-chan time.Time
	if released == nil {
		late = r.sent()
	}
	first, second := r.first.pieces, chan piece(nil)
	for {
		var p piece
		var from *rival
		var ok bool
		select {
		case <-released:
			released, late = nil, r.sent()
			continue
		case <-late:
			second = r.again(ctx)
			continue
		case p, ok = <-first:
			from, first = r.first, nil
		case p, ok = <-second:
			from, second = r.second, nil
		}
		if !ok {
			p.err = &Error{Class: Truncated, Model: r.Name(), Message: "the answer broke off"}
		}
		if p.err == nil {
			r.began(from)
			return from, p
		}
		if first == nil && second == nil { // a hedge is no second try: where there is none, none is made
			return from, p
		}
		from.sent = time.Time{}
	}
}

// sent notes that the first request is sent now. It returns what tells that it is late,
// or nil.
func (r *race) sent() <-chan time.Time {
	r.first.sent = time.Now()
	if late, known := r.pace.request(); known {
		return time.After(late)
	}
	return nil
}

// again makes the second request if it may be made, and returns what that says.
func (r *race) again(ctx context.Context) chan piece {
	if ctx.Err() != nil {
		return nil
	}
	p := r.gate.hedge(r.Name(), r.pace)
	if p == nil {
		return nil
	}
	r.second = r.start(ctx, p, nil, r.req)
	r.second.sent = p.started
	return r.second.pieces
}

// began notes how long the requests took up to now, when one has begun to answer. What
// the first would have taken, if it is not that one, is more than that; what the second
// would have, nobody knows.
func (r *race) began(winner *rival) {
	now := time.Now()
	if !r.first.sent.IsZero() {
		r.pace.note(now.Sub(r.first.sent))
	}
	if winner == r.second {
		r.pace.note(now.Sub(winner.sent))
	}
}

// tell hands on what the winner says, from its first piece on. The last one has the usage
// of both requests.
func (r *race) tell(winner *rival, p piece, yield func(Delta, error) bool) {
	loser := r.second
	if winner == r.second {
		loser = r.first
	}
	loser.leave()
	for ok := true; ok; p, ok = <-winner.pieces {
		last := p.err != nil || p.Done != nil
		if p.Hedged = loser != nil; p.Hedged && last {
			p.bill(winner.used.with(loser.usage(r.req)))
		}
		if !yield(p.Delta, p.err) || last {
			return
		}
	}
}

// bill makes the last piece say what was used.
func (p *piece) bill(used Usage) {
	if p.err != nil {
		e := *asError(p.err, "")
		e.Usage, p.err = used, &e
		return
	}
	done := *p.Done
	done.Usage, p.Done = used, &done
}

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
