package app

import (
	"context"
	"errors"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
)

// BytesAToken is how many bytes a token has at least, on average.
const BytesAToken = 2

// A VectorModel makes vectors of texts, and says what that used.
type VectorModel struct {
	Name  string // provider/model
	Price ponder.Price
	Embed func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error)
}

// MaxCost returns the most that vectors of texts may cost.
func (m VectorModel) MaxCost(texts []string) ponder.Money {
	tokens := 0
	for _, t := range texts {
		tokens += len(t)/BytesAToken + 16
	}
	return m.Price.Cost(llm.Usage{Input: tokens})
}

// Cost returns what vectors have cost that may have cost so much at most: that, if nobody
// says what they used.
func (m VectorModel) Cost(usage llm.Usage, err error, most ponder.Money) ponder.Money {
	if usage.Cost != nil && *usage.Cost > 0 {
		return ponder.Money(*usage.Cost)
	}
	if usage.Total() > 0 {
		return m.Price.Cost(usage)
	}
	var refused *llm.Error
	if errors.As(err, &refused) {
		switch refused.Class {
		case llm.Cancelled, llm.Truncated, llm.Malformed:
		default:
			return 0
		}
	}
	return most
}

// Vectors returns what makes vectors with a model.
func (l *ModelSet) Vectors(full string) (m VectorModel, err error) {
	provider, id, err := config.SplitModel(full)
	if err != nil {
		return m, err
	}
	p, err := l.Provider(provider)
	if err != nil {
		return m, err
	}
	return VectorModel{full, l.price(full, p), func(ctx context.Context, texts []string) ([][]float32, llm.Usage, error) {
		vectors, usage, err := p.Embed(ctx, id, texts)
		var refused *llm.Error
		if errors.As(err, &refused) {
			usage = refused.Usage
		}
		return vectors, usage, err
	}}, nil
}
