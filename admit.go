package ponder

import (
	"cmp"
	"slices"

	"ponder/llm"
)

// Numbers that admission goes by.
const (
	defaultMaxTokens = 4096    // of a call that does not say
	mostTokens       = 1 << 28 // that a call may write, so that sums of them are numbers still
	leastTokens      = 256     // fewer are no answer's worth
	bytesPerToken    = 3       // of a request, to be on the safe side
)

// noModel is the reason of a call whose role has no model.
const noModel = "model"

// admit returns the intent to make a call, or what it does not fit in.
func (d *decision) admit(r *run, c Call, a *act) (Body, string) {
	chain := d.roles[c.Role]
	if len(chain) == 0 {
		return nil, noModel
	}
	if r.told && r.since >= maxLast {
		return nil, "calls"
	}
	m := chain[from(chain, a.model)]
	req := c.Request
	req.MaxTokens = min(cmp.Or(max(0, req.MaxTokens), defaultMaxTokens), mostTokens)
	if m.MaxOutput > 0 {
		req.MaxTokens = min(req.MaxTokens, m.MaxOutput)
	}
	size := req.Size()
	in := d.tokensIn(m, size)
	out, reason := d.fit(r, m, in, req.MaxTokens)
	if reason != "" {
		return nil, reason
	}
	req.MaxTokens = out
	held := m.most(in, out)
	twice := held.Add(held)
	if req.Hedge = m.Hedge && !c.Shown && d.spare(r, twice.Add(held)); req.Hedge {
		held = twice
	}
	for up := r; up != nil; up = up.up {
		d.held[up.ID] = d.held[up.ID].Add(held)
	}
	return CallStarted{Role: c.Role, Mode: r.Mode, Model: m.Name(), Request: &req, Size: size, Held: held}, ""
}

// from returns which of a chain an action asks next that is at a model: that one, or the
// first behind it that is not closed for now; that one, too, if all are.
func from(chain []Model, name string) int {
	at := max(0, slices.IndexFunc(chain, func(m Model) bool { return m.Name() == name }))
	if at == len(chain)-1 {
		return at
	}
	return at + max(0, firstOpen(chain[at:]))
}

// firstOpen returns which of some models is the first that is not closed for now, or -1.
func firstOpen(models []Model) int {
	return slices.IndexFunc(models, func(m Model) bool { _, ok := llm.Admits(m.Model); return ok })
}

// fit returns how many tokens a call may write, at most out and at least an
// answer's worth, so that it fits in every budget above; or the budget in which
// it does not fit.
func (d *decision) fit(r *run, m Model, in, out int) (int, string) {
	least := min(out, leastTokens)
	for up := r; up != nil; up = up.up {
		limit, kept := up.Budget.Cost, up.withheld()
		used := up.spent.Add(up.held).Add(d.held[up.ID])
		if limit.Money > 0 && m.Price.unknown() {
			return 0, "money"
		}
		if limit.Tokens > 0 {
			out = min(out, limit.Tokens-kept.Tokens-used.Tokens-in)
		}
		if limit.Money > 0 {
			out = min(out, m.Price.affords(limit.Money-kept.Money-used.Money, in))
		}
		if what := used.Add(m.most(in, least)).over(limit, kept); what != "" {
			return 0, what
		}
	}
	return max(out, least), ""
}

// spare reports whether so much is left in every budget above a run. What is held for a
// second request must leave room for another call, so that it keeps none from being made.
func (d *decision) spare(r *run, c Cost) bool {
	for up := r; up != nil; up = up.up {
		if up.spent.Add(up.held).Add(d.held[up.ID]).Add(c).over(up.Budget.Cost, up.withheld()) != "" {
			return false
		}
	}
	return true
}

// withheld returns what of the budget of a run is not for its calls now.
func (r *run) withheld() Cost {
	if r.told {
		return Cost{}
	}
	return r.Budget.reserve()
}

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

func (p Price) unknown() bool { return p.Source == "" || p.Source == PriceUnknown }

// Of returns what usage costs at this price.
func (p Price) Of(u llm.Usage) Money {
	if p.unknown() {
		return 0
	}
	micro := float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite
	return Money(micro + 0.999999)
}

// affords returns how many tokens may be written for so much after reading in.
func (p Price) affords(m Money, in int) int {
	left := float64(m) - float64(in)*max(p.Input, p.CacheWrite)
	if p.Output <= 0 {
		return mostTokens
	}
	return int(max(0, min(left/p.Output, mostTokens)))
}

// tokensIn estimates how many tokens a request of so many bytes has, rather too many
// than too few, by what the model has reported of others on the line.
func (l *line) tokensIn(m Model, size int) int {
	return l.guess.Tokens(m.Name(), size)*6/5 + 16
}

// most returns the most that a call may cost.
func (m Model) most(in, out int) Cost {
	c := Cost{Calls: 1, Tokens: in + out}
	if !m.Price.unknown() {
		c.Money = Money(float64(in)*max(m.Price.Input, m.Price.CacheWrite) + float64(out)*m.Price.Output + 0.999999)
	}
	return c
}

// settle returns what the budgets are charged for a call that was held for so
// much, read and wrote so many bytes, and claims usage. A model that claims
// less than the bytes can have been is not believed, nor one that claims more
// than twice what was held. Two requests are two calls, and each has read as much.
func (m Model) settle(held Cost, read, wrote int, u llm.Usage) (Cost, PriceSource) {
	const bytesAtMost = 8 // of a token
	read *= requests(u.Hedged)
	in, out := max(u.Total()-u.Output, (read+bytesAtMost-1)/bytesAtMost), max(u.Output, wrote/bytesAtMost)
	c := Cost{Calls: requests(u.Hedged), Tokens: min(in+out, 2*held.Tokens)}
	source := cmp.Or(m.Price.Source, PriceUnknown)
	switch {
	case u.Cost != nil && *u.Cost >= 0:
		c.Money, source = Money(*u.Cost), PriceReported
		if source == PriceReported && m.Price.Source == PriceLocal {
			source = PriceLocal
		}
	case !m.Price.unknown():
		c.Money = max(m.Price.Of(u), m.Price.Of(llm.Usage{Input: read / bytesAtMost, Output: wrote / bytesAtMost}))
	}
	if held.Money > 0 {
		c.Money = min(c.Money, 2*held.Money)
	}
	return c, source
}

// requests returns how many requests a call is, or may be.
func requests(hedged bool) int {
	if hedged {
		return 2
	}
	return 1
}
