package ponder

import "ponder/llm"

// A Model is a model and what the engine must know of it.
type Model struct {
	llm.Model
	Price     Price
	MaxOutput int  // tokens it can write at most; zero: not known
	Hedge     bool // calls for the role that are not shown may be made twice: see [llm.Request]
}

// A Price is what a model's tokens cost. The zero Price is not known.
type Price struct {
	Source PriceSource // "" and PriceUnknown: not known
	// In USD per million tokens, which is the same as millionths per token. Zero is free.
	Input, Output, CacheRead, CacheWrite float64
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p.Source != "" && p.Source != PriceUnknown }

// Of returns what usage costs at this price.
func (p Price) Cost(u llm.Usage) Money {
	if !p.Known() {
		return 0
	}
	micro := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	return Money(micro + 0.999999)
}
