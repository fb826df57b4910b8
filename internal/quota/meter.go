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

type Payer interface {
	// Reserve returns the request to make, its maximal cost, and the settlement. An [llm.Error]
	// fails the call as it is; any other error as [llm.Payment].
	Reserve(ctx context.Context, m ponder.Model, req *llm.Request) (*llm.Request, ponder.Money, Settle, error)
}

type Settle func(cost ponder.Money)

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

// A meteredModel is a model whose calls a [Payer] pays for.
type meteredModel struct {
	llm.Model
	paid  ponder.Model
	payer Payer
}

func (m meteredModel) Available() (time.Duration, bool) { return llm.Available(m.Model) }

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
		cost, wrote := reserved, false // of an aborted call
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

func costOf(p ponder.Price, u llm.Usage) ponder.Money {
	if u.Cost != nil && *u.Cost >= 0 {
		return ponder.Money(*u.Cost)
	}
	return max(0, p.Cost(u))
}

// costOfFailed returns the possible cost of a failed call, nothing if it had no output.
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

// BytesPerToken is a lower bound of the average.
const BytesPerToken = 2

// maxCost returns the maximal cost of one request.
func maxCost(p ponder.Price, req *llm.Request) ponder.Money {
	in := llm.Usage{Input: req.Size()/BytesPerToken + 16, Output: req.MaxTokens}
	written := llm.Usage{CacheWrite: in.Input, Output: in.Output}
	return max(p.Cost(in), p.Cost(written))
}
