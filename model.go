package ponder

import "ponder/llm"

// A Model is a model with its price and limits.
type Model struct {
	llm.Model
	Price     Price
	MaxOutput int  // the most tokens that it can write; zero: unknown
	Hedge     bool // calls that users do not watch may be sent twice: see [llm.Request]
}

// A Price is the price of the tokens of a model. The zero Price is unknown.
type Price struct {
	Source PriceSource // unknown if "" or PriceUnknown
	// In USD per million tokens, which equals millionths of a USD per token. Zero is free.
	Input, Output, CacheRead, CacheWrite float64

	// Long is the price of requests that read more than Over tokens; zero Over means none.
	Over int
	Long llm.Price
}

// NewPrice returns the price of a described model.
func NewPrice(source PriceSource, i llm.Info) Price {
	return Price{source, i.Price.Input, i.Price.Output, i.Price.CacheRead, i.Price.CacheWrite, i.Over, i.Long}
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p.Source != "" && p.Source != PriceUnknown }

// Cost returns the cost of usage at this price.
func (p Price) Cost(u llm.Usage) Money {
	if !p.Known() {
		return 0
	}
	return Money(p.info().Cost(u))
}

// Rates returns the price of a request that reads tokens, caches included.
func (p Price) Rates(tokens int) llm.Price { return p.info().Rates(tokens) }

func (p Price) info() llm.Info {
	return llm.Info{Price: llm.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}, Over: p.Over, Long: p.Long}
}
