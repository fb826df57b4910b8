package llm

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"strings"
)

// A Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64
}

// An Override is a price as far as it is given: in a configuration file, or in a
// table. What is not given for caches is the input price, or keeps its
// proportion to it.
type Override struct {
	Input      *float64 `json:"input,omitempty" toml:"input"`
	Output     *float64 `json:"output,omitempty" toml:"output"`
	CacheRead  *float64 `json:"cache_read,omitempty" toml:"cache_read"`
	CacheWrite *float64 `json:"cache_write,omitempty" toml:"cache_write"`
}

// maxPrice bounds prices: 100 times the dearest there is.
const maxPrice = 100_000

// check reports a price that cannot be meant.
func (o Override) check() error {
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

// over returns the price base changed by o.
func (o Override) over(base Price) Price {
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

// A PriceSource says where a price is from.
type PriceSource string

// The sources, the one that wins first.
const (
	FromProvider  PriceSource = "provider"  // the provider said what the request cost
	FromOverride  PriceSource = "override"  // the configuration
	FromRefreshed PriceSource = "refreshed" // a table that was fetched
	FromTable     PriceSource = "table"     // the built-in table
	PriceUnknown  PriceSource = ""
)

// An Info is what is known of a model. Zero numbers are unknown.
type Info struct {
	Price Price // if Source is not PriceUnknown

	// Long is the price of requests that read more than Over tokens, caches
	// included. Over is zero if there is no such price.
	Over int
	Long Price

	Source PriceSource // of the prices

	Context   int // tokens of a request and its answer
	MaxOutput int // tokens of an answer
	Reasoning bool
	Vision    bool
	Tools     bool
}

// Prices knows what models cost. It is a value that does not change: safe for
// concurrent use. The zero value knows nothing.
type Prices struct {
	tables    []priceTable // the one that wins first
	overrides map[string]Override
}

//go:embed prices.json
var pricesJSON []byte

// BuiltIn returns the prices that Ponder comes with, as of [Prices.AsOf].
func BuiltIn() Prices {
	t, err := ParseTable(pricesJSON)
	if err != nil {
		panic("llm: built-in prices: " + err.Error())
	}
	return Prices{tables: []priceTable{t.index(FromTable)}}
}

// AsOf returns the date, as 2026-10-27, of the newest table, or "".
func (p Prices) AsOf() string {
	if len(p.tables) == 0 {
		return ""
	}
	return p.tables[0].asOf
}

// WithTable returns p with a table that wins over those p has.
func (p Prices) WithTable(t Table) Prices {
	p.tables = append([]priceTable{t.index(FromRefreshed)}, p.tables...)
	return p
}

// With returns p with prices for model, a full name, or "provider/*" for all
// models of a provider. They win over every table. For a model that is in no
// table, input and output are both needed to make a price.
func (p Prices) With(model string, o Override) (Prices, error) {
	if err := o.check(); err != nil {
		return p, fmt.Errorf("price of %s: %w", model, err)
	}
	overrides := maps.Clone(p.overrides)
	if overrides == nil {
		overrides = make(map[string]Override)
	}
	overrides[canonical(model)] = o
	p.overrides = overrides
	return p, nil
}

// Lookup returns what is known of a model by its full name. Dated versions, as
// anthropic/claude-opus-4-6-20260205, and openrouter's names for models that are
// known from elsewhere are found. It returns false if nothing at all is known;
// the price may be unknown even if it returns true.
func (p Prices) Lookup(model string) (Info, bool) {
	names := aliases(model)
	var info Info
	found := false
	for _, t := range p.tables {
		if i, ok := find(t.models, names); ok {
			info, found = info.fill(i), true
		}
	}
	o, ok := find(p.overrides, names)
	if !ok {
		return info, found
	}
	if info.Source == PriceUnknown && (o.Input == nil || o.Output == nil) {
		return info, found
	}
	info.Price, info.Source = o.over(info.Price), FromOverride
	if o.Input != nil || o.Output != nil {
		info.Over, info.Long = 0, Price{} // a price of one's own has no tiers
	}
	return info, true
}

// fill returns i with what it lacks from other.
func (i Info) fill(other Info) Info {
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

// maxCost bounds the cost of a request, in millionths of a dollar: a million dollars.
const maxCost = 1e12

// Cost returns what a request to model cost, in millionths of a US dollar, and
// how that is known. What the provider says wins over an override in the
// configuration, that over a fetched table, that over the built-in one. An
// unknown price is unknown, never 0; ollama's models cost 0 by declaration.
func (p Prices) Cost(u Usage, model string) (microdollars int64, known bool, source PriceSource) {
	if u.Cost != nil && *u.Cost >= 0 {
		return min(*u.Cost, maxCost), true, FromProvider
	}
	info, _ := p.Lookup(model)
	if info.Source == PriceUnknown {
		return 0, false, PriceUnknown
	}
	return info.cost(u), true, info.Source
}

// cost returns what u costs: dollars per million tokens are millionths of a
// dollar per token.
func (i Info) cost(u Usage) int64 {
	input, read, write, output := count(u.Input), count(u.CacheRead), count(u.CacheWrite), count(u.Output)
	price := i.Price
	if i.Over > 0 && input+read+write > float64(i.Over) {
		price = i.Long
	}
	sum := input*price.Input + read*price.CacheRead + write*price.CacheWrite + output*price.Output
	return int64(math.Ceil(math.Min(sum, maxCost) - 1e-6)) // a part counts, rounding errors do not
}

// count returns a number of tokens; a negative one is none.
func count(tokens int) float64 { return float64(max(0, tokens)) }

// find returns the entry of the first of names that m has.
func find[V any](m map[string]V, names []string) (v V, ok bool) {
	for _, name := range names {
		if v, ok = m[name]; ok {
			return v, true
		}
	}
	return v, false
}

// canonical returns the form of a name that tables are searched for: dots and
// case do not count, for providers disagree on them.
func canonical(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), ".", "-")
}
