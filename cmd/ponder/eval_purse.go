package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"ponder"
	"ponder/llm"
)

// errSpent is why an evaluation ends before its end.
var errSpent = errors.New("the budget is spent")

// grace is how long the log of the last answers may take, after the last call.
const grace = 2 * time.Second

// A purse counts what models cost, and stops them when it is empty: calls in flight
// go on to their end, and those that come then wait for theirs, which is that of ctx.
// So what was paid for is kept, and what was not is asked by whoever goes on.
type purse struct {
	stop   context.CancelCauseFunc // ends all work
	limits ponder.Budget

	mu      sync.Mutex
	spent   ponder.Cost
	flight  int // calls
	waiting int // calls, for the end
	at      int // threads that are worked on
	why     error
	timer   *time.Timer
}

// newPurse returns a purse. Its stop is set before it is used: it is called when the
// purse is empty and no call is in flight.
func newPurse(limits ponder.Budget) *purse { return &purse{limits: limits} }

// models returns models that pay from the purse. None is asked twice, so that what is
// measured is alike.
func (p *purse) models(all map[ponder.Role][]ponder.Model) map[ponder.Role][]ponder.Model {
	paid := make(map[ponder.Role][]ponder.Model)
	for role, chain := range all {
		for _, m := range chain {
			m.Model, m.Hedge = payer{m.Model, m.Price, p}, false
			paid[role] = append(paid[role], m)
		}
	}
	return paid
}

// work counts a thread that is worked on, until done is called.
func (p *purse) work() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.at--
		p.settle()
	}
}

// empty ends it: because of why, unless there is a reason already.
func (p *purse) empty(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.close(why)
	p.settle()
}

func (p *purse) close(why string) {
	if p.why == nil {
		p.why = fmt.Errorf("%w: %s", errSpent, why)
	}
}

// ended returns why nothing new is to be begun, or nil.
func (p *purse) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// isEmpty reports whether nothing new is to be begun.
func (p *purse) isEmpty() bool { return p.ended() != nil }

// sum returns what was spent.
func (p *purse) sum() ponder.Cost {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// settle stops all work once nothing is in flight and all of it waits, or after a
// moment: some of it may wait for something else.
func (p *purse) settle() {
	switch {
	case p.why == nil || p.flight > 0:
	case p.waiting >= p.at:
		p.stop(p.why)
	case p.timer == nil:
		p.timer = time.AfterFunc(grace, func() { p.stop(p.why) })
	}
}

// begin admits a call.
func (p *purse) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limits.Calls > 0 && p.spent.Calls >= p.limits.Calls {
		p.close("calls")
	}
	if p.why != nil {
		p.waiting++
		p.settle()
		return false
	}
	p.spent.Calls++
	p.flight++
	return true
}

// end settles a call.
func (p *purse) end(cost ponder.Money) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flight--
	p.spent.Money += cost
	if p.limits.Money > 0 && p.spent.Money >= p.limits.Money {
		p.close("money")
	}
	p.settle()
}

// A payer is a model that pays from a purse.
type payer struct {
	llm.Model
	price ponder.Price
	purse *purse
}

// Admits implements [llm.Admitter].
func (m payer) Admits() (time.Duration, bool) { return llm.Admits(m.Model) }

// Generate implements [llm.Model].
func (m payer) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !m.purse.begin() {
			<-ctx.Done()
			yield(llm.Delta{}, &llm.Error{Class: llm.Cancelled, Message: "the budget is spent"})
			return
		}
		var cost ponder.Money
		defer func() { m.purse.end(cost) }()
		for d, err := range m.Model.Generate(ctx, req) {
			if d.Done != nil {
				cost = m.cost(d.Done.Usage)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// cost returns what a call cost: what the provider says, else by the price.
func (m payer) cost(u llm.Usage) ponder.Money {
	if u.Cost != nil {
		return ponder.Money(max(0, *u.Cost))
	}
	return max(0, m.price.Cost(u))
}
