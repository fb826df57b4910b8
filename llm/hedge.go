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

// An attempt is one request of a race, in its own goroutine.
type attempt struct {
	cancel    context.CancelCauseFunc
	sentAt    time.Time     // zero while held or failed
	pieces    chan piece    // closed at the end
	abandoned chan struct{} // closed without a reader
	lastUsage Usage         // valid after the last piece
	ended     bool          // the last piece was sent
}

type piece struct {
	Delta
	err error
}

var errLost = errors.New("another request was answered first")

func (m *gatedModel) startAttempt(ctx context.Context, p *slot, released <-chan struct{}, req *Request) *attempt {
	ctx, stop := context.WithCancelCause(ctx)
	r := &attempt{cancel: stop, pieces: make(chan piece), abandoned: make(chan struct{}), lastUsage: estimateUsage(req)}
	go func() {
		defer close(r.pieces)
		defer stop(nil)
		defer func() {
			if v := recover(); v != nil {
				r.sendPiece(Delta{}, &Error{Class: Malformed, Model: m.Name(), Message: "the adapter panicked", Usage: r.lastUsage, Err: fmt.Errorf("panic: %v", v)})
			}
		}()
		m.sendInSlot(ctx, p, released, req)(r.sendPiece)
	}()
	return r
}

// sendPiece reports whether the reader took a piece.
func (r *attempt) sendPiece(d Delta, err error) bool {
	if r.ended {
		return false
	}
	r.ended = err != nil || d.Done != nil
	if err != nil {
		if e := asError(err, ""); e.Class != Cancelled || e.Usage.Total() > 0 {
			r.lastUsage = e.Usage
		}
	} else if d.Done != nil {
		r.lastUsage = d.Done.Usage
	}
	select {
	case r.pieces <- piece{d, err}:
		return true
	case <-r.abandoned:
		return false
	}
}

// cancelAttempt cancels a request. It is not safe for concurrent use.
func (r *attempt) cancelAttempt() {
	if r != nil && r.cancel != nil {
		close(r.abandoned)
		r.cancel(errLost)
		r.cancel = nil
	}
}

func (r *attempt) awaitUsage(req *Request) Usage {
	wedged := time.After(loserTime)
	for {
		select {
		case _, more := <-r.pieces:
			if !more {
				return r.lastUsage
			}
		case <-wedged:
			return estimateUsage(req)
		}
	}
}

// estimateUsage estimates an unanswered request's usage.
func estimateUsage(req *Request) Usage {
	return Usage{Input: int(math.Ceil(float64(req.Size()) * tokensPerByte)), Estimated: true}
}

// addHedge adds two usages. A missing second cost counts at the first's rate per token.
func (u Usage) addHedge(o Usage) Usage {
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

type hedgedCall struct {
	*gatedModel
	req           *Request
	latency       *latency
	first, second *attempt // nil without hedge
}

func (m *gatedModel) sendHedged(ctx context.Context, p *slot, released <-chan struct{}, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		r := &hedgedCall{gatedModel: m, req: req, latency: m.gate.latencyFor(m.Name()), first: m.startAttempt(ctx, p, released, req)}
		defer func() {
			r.first.cancelAttempt()
			r.second.cancelAttempt()
		}()
		winner, begins := r.run(ctx, released)
		r.yieldWinner(winner, begins, yield)
	}
}

// run returns the first request with a delta, or the last failure.
func (r *hedgedCall) run(ctx context.Context, released <-chan struct{}) (*attempt, piece) {
	var late <-chan time.Time
	if released == nil {
		late = r.startTimer()
	}
	first, second := r.first.pieces, chan piece(nil)
	for {
		var p piece
		var from *attempt
		var ok bool
		select {
		case <-released:
			released, late = nil, r.startTimer()
			continue
		case <-late:
			second = r.sendHedge(ctx)
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
			r.recordLatencies(from)
			return from, p
		}
		if first == nil && second == nil { // a hedge is no retry
			return from, p
		}
		from.sentAt = time.Time{}
	}
}

// startTimer returns the hedge's timer, or nil.
func (r *hedgedCall) startTimer() <-chan time.Time {
	r.first.sentAt = time.Now()
	if late, known := r.latency.countRequest(); known {
		return time.After(late)
	}
	return nil
}

// sendHedge sends the hedge if allowed.
func (r *hedgedCall) sendHedge(ctx context.Context) chan piece {
	if ctx.Err() != nil {
		return nil
	}
	p := r.gate.tryHedge(r.Name(), r.latency)
	if p == nil {
		return nil
	}
	r.second = r.startAttempt(ctx, p, nil, r.req)
	r.second.sentAt = p.started
	return r.second.pieces
}

// recordLatencies records latencies. The first request's elapsed time is a lower bound if it lost.
func (r *hedgedCall) recordLatencies(winner *attempt) {
	now := time.Now()
	if !r.first.sentAt.IsZero() {
		r.latency.addSample(now.Sub(r.first.sentAt))
	}
	if winner == r.second {
		r.latency.addSample(now.Sub(winner.sentAt))
	}
}

// yieldWinner yields the winner's pieces; the last has both usages.
func (r *hedgedCall) yieldWinner(winner *attempt, p piece, yield func(Delta, error) bool) {
	loser := r.second
	if winner == r.second {
		loser = r.first
	}
	loser.cancelAttempt()
	for ok := true; ok; p, ok = <-winner.pieces {
		last := p.err != nil || p.Done != nil
		if p.Hedged = loser != nil; p.Hedged && last {
			p.setUsage(winner.lastUsage.addHedge(loser.awaitUsage(r.req)))
		}
		if !yield(p.Delta, p.err) || last {
			return
		}
	}
}

func (p *piece) setUsage(used Usage) {
	if p.err != nil {
		e := *asError(p.err, "")
		e.Usage, p.err = used, &e
		return
	}
	done := *p.Done
	done.Usage, p.Done = used, &done
}

const (
	minLatencies = 20 // minimum samples
	maxLatencies = 100
	hedgeShare   = 20 // requests per hedge
	hedgeBurst   = 2  // saved hedges
)

// A latency has one model's latencies and hedge budget. The zero value is ready. It is safe
// for concurrent use.
type latency struct {
	mu      sync.Mutex
	samples []time.Duration // ring buffer of maxLatencies
	oldest  int
	credit  int // unspent requests
}

func (p *latency) addSample(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) < maxLatencies {
		p.samples = append(p.samples, d)
		return
	}
	p.samples[p.oldest] = d
	p.oldest = (p.oldest + 1) % maxLatencies
}

// countRequest adds to the budget and returns the 95th percentile, if known.
func (p *latency) countRequest() (late time.Duration, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.credit = min(p.credit+1, hedgeBurst*hedgeShare)
	n := len(p.samples)
	if n < minLatencies {
		return 0, false
	}
	return slices.Sorted(slices.Values(p.samples))[(95*n+99)/100-1], true
}

func (p *latency) spendHedge() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.credit < hedgeShare {
		return false
	}
	p.credit -= hedgeShare
	return true
}

const maxLatencyModels = 200

func (g *Gate) latencyFor(model string) *latency {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.latencies[model]
	if p == nil {
		if len(g.latencies) >= maxLatencyModels {
			clear(g.latencies)
		}
		p = new(latency)
		g.latencies[model] = p
	}
	return p
}

// tryHedge returns a slot at once, or nil.
func (g *Gate) tryHedge(model string, of *latency) *slot {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.quotaFor(model, now)
	if _, a := g.breakers[model].checkAdmission(now); a != (admission{}) || s.isSpent() || s.heldCount() > 0 || !g.hasSlot() || !of.spendHedge() {
		return nil
	}
	g.lane.inFlight++
	s.quota = s.countSent()
	return &slot{model: model, started: now, inFlight: g.lane.inFlight}
}
