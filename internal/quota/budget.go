package quota

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// ErrSpent is the cause of work that ends because its budget is spent.
var ErrSpent = errors.New("the budget is spent")

const grace = 2 * time.Second

// A Budget stops work when its limits are spent. Calls in flight finish. Later calls block
// until their context ends, so that a continuation repeats them.
type Budget struct {
	stop   context.CancelCauseFunc
	limits ponder.Budget

	mu       sync.Mutex
	spent    ponder.Cost
	inFlight int
	waiting  int
	working  int // threads with work
	reason   error
	timer    *time.Timer
}

func NewBudget(limits ponder.Budget) *Budget { return &Budget{limits: limits} }

// Start returns a context that ends when the budget is spent and no call is in flight.
func (p *Budget) Start(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, p.stop = context.WithCancelCause(ctx)
	return ctx, p.stop
}

// Models returns models that p counts. It turns hedging off, so that each call counts once.
func (p *Budget) Models(all map[ponder.Role][]ponder.Model) map[ponder.Role][]ponder.Model {
	paid := Meter(all, p)
	for _, chain := range paid {
		for i := range chain {
			chain[i].Hedge = false
		}
	}
	return paid
}

// Work counts a thread as working until done is called.
func (p *Budget) Work() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.working++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.working--
		p.stopWhenIdle()
	}
}

// Spend ends the budget with the reason why.
func (p *Budget) Spend(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.markSpent(why)
	p.stopWhenIdle()
}

func (p *Budget) markSpent(why string) {
	if p.reason == nil {
		p.reason = fmt.Errorf("%w: %s", ErrSpent, why)
	}
}

// Err returns an [ErrSpent] if the budget is spent.
func (p *Budget) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

func (p *Budget) Spent() ponder.Cost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// stopWhenIdle stops all work once no call is in flight and all threads wait, or after grace, because
// a thread may wait for something else.
func (p *Budget) stopWhenIdle() {
	switch {
	case p.reason == nil || p.inFlight > 0:
	case p.waiting >= p.working:
		p.stop(p.reason)
	case p.timer == nil:
		p.timer = time.AfterFunc(grace, func() { p.stop(p.reason) })
	}
}

// Reserve implements [Payer]. It blocks until ctx ends if the budget is spent.
func (p *Budget) Reserve(ctx context.Context, _ ponder.Model, req *llm.Request) (*llm.Request, ponder.Money, Settle, error) {
	if !p.startCall() {
		<-ctx.Done()
		return nil, 0, nil, &llm.Error{Class: llm.Cancelled, Message: "the budget is spent"}
	}
	return req, 0, p.endCall, nil
}

func (p *Budget) startCall() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limits.Calls > 0 && p.spent.Calls >= p.limits.Calls {
		p.markSpent("calls")
	}
	if p.reason != nil {
		p.waiting++
		p.stopWhenIdle()
		return false
	}
	p.spent.Calls++
	p.inFlight++
	return true
}

func (p *Budget) endCall(cost ponder.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	p.spent.Money += cost
	if p.limits.Money > 0 && p.spent.Money >= p.limits.Money {
		p.markSpent("money")
	}
	p.stopWhenIdle()
}
