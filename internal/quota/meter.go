package quota

import (
	"context"
	"errors"
	"iter"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// A Payer pays for calls of models.
type Payer interface {
	// Reserve reserves what the call req of m may cost. It returns the request to make, the
	// most that it may cost, and what settles its cost once it has ended. An [llm.Error]
	// fails the call as it is; any other error fails it as [llm.Payment].
	Reserve(ctx context.Context, m ponder.Model, req *llm.Request) (*llm.Request, ponder.Money, Settle, error)
}

// Settle replaces what a call reserved by what it has cost.
type Settle func(cost ponder.Money)

// Meter returns models whose calls p pays for.
func Meter(models map[ponder.Role][]ponder.Model, p Payer) map[ponder.Role][]ponder.Model {
	all := make(map[ponder.Role][]ponder.Model)
	for role, chain := range models {
		for _, m := range chain {
			m.Model = meteredModel{m.Model, m, p}
			all[role] = append(all[role], m)
		}
	}
	return all
}

// A meteredModel is a model whose calls a payer pays for.
type meteredModel struct {
	llm.Model
	paid  ponder.Model
	payer Payer
}

// Admits implements [llm.Admitter].
func (m meteredModel) Admits() (time.Duration, bool) { return llm.Admits(m.Model) }

// Generate implements [llm.Model].
func (m meteredModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		req, reserved, settle, err := m.payer.Reserve(ctx, m.paid, req)
		if err != nil {
			refused := (*llm.Error)(nil)
			if !errors.As(err, &refused) {
				err = &llm.Error{Class: llm.Payment, Model: m.Name(), Message: textkit.OneLine(err.Error())}
			}
			yield(llm.Delta{}, err)
			return
		}
		cost, wrote := reserved, false // of a call that breaks off
		defer func() { settle(cost) }()
		for d, err := range m.Model.Generate(ctx, req) {
			switch {
			case err != nil:
				cost = costOfFailed(m.paid.Price, err, wrote, reserved)
			case d.Done != nil:
				cost = costOf(m.paid.Price, d.Done.Usage)
			default:
				wrote = true
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// costOf returns the cost that the provider reports, or else the cost by the price.
func costOf(p ponder.Price, u llm.Usage) ponder.Money {
	if u.Cost != nil && *u.Cost >= 0 {
		return ponder.Money(*u.Cost)
	}
	return max(0, p.Cost(u))
}

// costOfFailed returns what a failed call may have cost: nothing if no word was answered.
func costOfFailed(p ponder.Price, err error, wrote bool, reserved ponder.Money) ponder.Money {
	var why *llm.Error
	if !errors.As(err, &why) || wrote {
		return reserved
	}
	if why.Unsent {
		return 0
	}
	switch why.Class {
	case llm.Cancelled, llm.Truncated, llm.Malformed:
		return reserved
	}
	return min(costOf(p, why.Usage), reserved)
}

// BytesPerToken is the least number of bytes of a token, on average.
const BytesPerToken = 2

// maxCost returns the most that a request may cost once.
func maxCost(p ponder.Price, req *llm.Request) ponder.Money {
	in := llm.Usage{Input: req.Size()/BytesPerToken + 16, Output: req.MaxTokens}
	written := llm.Usage{CacheWrite: in.Input, Output: in.Output}
	return max(p.Cost(in), p.Cost(written))
}
