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

// loserTime limits the wait for the loser's usage.
const loserTime = time.Second

// A rival is one request of a race, in its own goroutine.
type rival struct {
	stop   context.CancelCauseFunc
	sent   time.Time     // zero while held or failed
	pieces chan piece    // closed at the end
	gone   chan struct{} // closed without a reader
	used   Usage         // valid after the last piece
	ended  bool          // the last piece was sent
}

type piece struct {
	Delta
	err error
}

var errLost = errors.New("another request was answered first")

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

// say reports whether the reader took a piece.
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

// leave cancels a request. It is not safe for concurrent use.
func (r *rival) leave() {
	if r != nil && r.stop != nil {
		close(r.gone)
		r.stop(errLost)
		r.stop = nil
	}
}

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

// guess estimates an unanswered request's usage.
func guess(req *Request) Usage {
	return Usage{Input: int(math.Ceil(float64(req.Size()) * tokensPerByte)), Estimated: true}
}

// with adds two usages. A missing second cost counts at the first's rate per token.
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

type race struct {
	*gatedModel
	req           *Request
	pace          *pace
	first, second *rival // nil without hedge
}

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

// run returns the first request with a delta, or the last failure.
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
		if first == nil && second == nil { // a hedge is no retry
			return from, p
		}
		from.sent = time.Time{}
	}
}

// sent returns the hedge's timer, or nil.
func (r *race) sent() <-chan time.Time {
	r.first.sent = time.Now()
	if late, known := r.pace.request(); known {
		return time.After(late)
	}
	return nil
}

// again sends the hedge if allowed.
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

// began records latencies. The first request's elapsed time is a lower bound if it lost.
func (r *race) began(winner *rival) {
	now := time.Now()
	if !r.first.sent.IsZero() {
		r.pace.note(now.Sub(r.first.sent))
	}
	if winner == r.second {
		r.pace.note(now.Sub(winner.sent))
	}
}

// tell yields the winner's pieces; the last has both usages.
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

func (p *piece) bill(used Usage) {
	if p.err != nil {
		e := *asError(p.err, "")
		e.Usage, p.err = used, &e
		return
	}
	done := *p.Done
	done.Usage, p.Done = used, &done
}

const (
	paceLeast  = 20 // minimum samples
	paceMost   = 100
	hedgeShare = 20 // requests per hedge
	hedgeBurst = 2  // saved hedges
)

// A pace has one model's latencies and hedge budget. The zero value is ready. It is safe
// for concurrent use.
type pace struct {
	mu     sync.Mutex
	firsts []time.Duration // ring buffer of paceMost
	oldest int
	saved  int // unspent requests
}

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

// request adds to the budget and returns the 95th percentile, if known.
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

func (p *pace) hedge() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.saved < hedgeShare {
		return false
	}
	p.saved -= hedgeShare
	return true
}

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

// hedge returns a slot at once, or nil.
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
