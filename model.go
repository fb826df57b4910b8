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
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p.Source != "" && p.Source != PriceUnknown }

// Cost returns the cost of usage at this price.
func (p Price) Cost(u llm.Usage) Money {
	if !p.Known() {
		return 0
	}
	micro := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	return Money(micro + 0.999999)
}
