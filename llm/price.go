package llm

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Price is a model's price in US dollars per million tokens.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64
}

// An Override is a partial price. Missing cache prices keep their ratio to Input, or
// equal it.
type Override struct {
	Input      *float64 `json:"input,omitempty" toml:"input"`
	Output     *float64 `json:"output,omitempty" toml:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty" toml:"cache_read"`
	CacheWrite *float64 `json:"cache_write,omitempty" toml:"cache_write"`
}

// maxPrice is 100 times the highest known price.
const maxPrice = 100_000

func (o Override) validate() error {
	for _, f := range []struct {
		name  string
		price *float64
	}{{"input", o.Input}, {"output", o.Output}, {"cache_read", o.CacheRead}, {"cache_write", o.CacheWrite}} {
		if f.price != nil && !(*f.price >= 0 && *f.price <= maxPrice) {
			return fmt.Errorf("%s: want 0 to %d US dollars per million tokens, not %v", f.name, maxPrice, *f.price)
		}
	}
	return nil
}

func (o Override) applyTo(base Price) Price {
	p := base
	if o.Input != nil {
		p.Input, p.CacheRead, p.CacheWrite = *o.Input, *o.Input, *o.Input
		if base.Input > 0 {
			p.CacheRead = *o.Input * base.CacheRead / base.Input
			p.CacheWrite = *o.Input * base.CacheWrite / base.Input
		}
	}
	for to, from := range map[*float64]*float64{&p.Output: o.Output, &p.CacheRead: o.CacheRead, &p.CacheWrite: o.CacheWrite} {
		if from != nil {
			*to = *from
		}
	}
	return p
}

type PriceSource string

// The sources, highest precedence first.
const (
	FromOverride  PriceSource = "override"  // the configuration
	FromRefreshed PriceSource = "refreshed" // a fetched table
	FromTable     PriceSource = "table"
	PriceUnknown  PriceSource = ""
)

// An Info describes a model; zero numbers are unknown.
type Info struct {
	Price Price // valid unless Source is PriceUnknown

	// Over and Long set the price of requests that read more than Over tokens, caches
	// included. Zero Over means none.
	Over int
	Long Price

	Source PriceSource // of the prices

	Context   int // tokens of request and answer
	MaxOutput int // tokens of an answer
	Reasoning bool
	Vision    bool
	Tools     bool
}

// Prices is immutable and safe for concurrent use. The zero value is empty.
type Prices struct {
	tables    []priceTable // highest precedence first
	overrides map[string]Override
}

//go:embed prices.json
var pricesJSON []byte

// BuiltInPrices returns the embedded prices.
func BuiltInPrices() Prices {
	t, err := ParseTable(pricesJSON)
	if err != nil {
		panic("llm: built-in prices: " + err.Error())
	}
	return Prices{tables: []priceTable{t.indexTable(FromTable)}}
}

// TableDate returns the newest table's date, such as 2026-10-27, or "".
func (p Prices) TableDate() string {
	if len(p.tables) == 0 {
		return ""
	}
	return p.tables[0].asOf
}

// Models returns the sorted full names in the tables, without patterns.
func (p Prices) Models() []string {
	var names []string
	for _, t := range p.tables {
		names = append(names, t.names...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// WithTable returns p with a table that wins over p's.
func (p Prices) WithTable(t Table) Prices {
	p.tables = append([]priceTable{t.indexTable(FromRefreshed)}, p.tables...)
	return p
}

// WithOverride returns p with the price of a full name, or of "provider/*", which wins over every
// table. A model in no table needs both input and output.
func (p Prices) WithOverride(model string, o Override) (Prices, error) {
	if err := o.validate(); err != nil {
		return p, fmt.Errorf("price of %s: %w", model, err)
	}
	overrides := maps.Clone(p.overrides)
	if overrides == nil {
		overrides = make(map[string]Override)
	}
	overrides[canonicalName(model)] = o
	p.overrides = overrides
	return p, nil
}

// Lookup describes a model by full name. It resolves dated versions and openrouter's
// names of other providers' models. Even if it returns true, the price may be unknown.
func (p Prices) Lookup(model string) (Info, bool) {
	names := modelAliases(model)
	var info Info
	found := false
	for _, t := range p.tables {
		if i, ok := findFirst(t.models, names); ok {
			info, found = info.fillMissing(i), true
		}
	}
	o, ok := findFirst(p.overrides, names)
	if !ok {
		return info, found
	}
	if info.Source == PriceUnknown && (o.Input == nil || o.Output == nil) {
		return info, found
	}
	info.Price, info.Source = o.applyTo(info.Price), FromOverride
	if o.Input != nil || o.Output != nil {
		info.Over, info.Long = 0, Price{} // an override has no tiers
	}
	return info, true
}

func (i Info) fillMissing(other Info) Info {
	if i.Source == PriceUnknown {
		i.Price, i.Over, i.Long, i.Source = other.Price, other.Over, other.Long, other.Source
	}
	i.Context = cmp.Or(i.Context, other.Context)
	i.MaxOutput = cmp.Or(i.MaxOutput, other.MaxOutput)
	i.Reasoning = i.Reasoning || other.Reasoning
	i.Vision = i.Vision || other.Vision
	i.Tools = i.Tools || other.Tools
	return i
}

// maxCost is a million dollars, in millionths.
const maxCost = 1e12

// Cost returns the cost of usage in millionths of a US dollar, rounded up. It needs no factor:
// dollars per million tokens equal millionths of a dollar per token.
func (i Info) Cost(u Usage) int64 {
	input, read, write, output := tokenCount(u.Input), tokenCount(u.CacheRead), tokenCount(u.CacheWrite), tokenCount(u.Output)
	price := i.Rates(int(min(input+read+write, maxTokens)))
	sum := input*price.Input + read*price.CacheRead + write*price.CacheWrite + output*price.Output
	return int64(math.Ceil(math.Min(sum, maxCost) - 1e-6)) // round up fractions, but not rounding errors
}

// Rates returns the price of a request that reads tokens, caches included.
func (i Info) Rates(tokens int) Price {
	if i.Over > 0 && tokens > i.Over {
		return i.Long
	}
	return i.Price
}

func tokenCount(tokens int) float64 { return float64(max(0, tokens)) }

func findFirst[V any](m map[string]V, names []string) (v V, ok bool) {
	for _, name := range names {
		if v, ok = m[name]; ok {
			return v, true
		}
	}
	return v, false
}

// canonicalName ignores case and equates dots with dashes, because providers differ in both.
func canonicalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), ".", "-")
}
