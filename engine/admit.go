package engine

import (
	"cmp"
	"slices"

	"ponder"
	"ponder/llm"
)

// Numbers for the admission of calls.
const (
	defaultMaxTokens = 4096    // for a call without a limit
	maxCallTokens    = 1 << 28 // limits a call, so that sums do not overflow
	minTokens        = 256     // fewer tokens do not make an answer
	bytesPerToken    = 3       // of a request; a low estimate
)

// noModel stands for a limit if the role of a call has no model.
const noModel = "model"

// admitCall returns the event that starts a call, or the limit that prevents it.
func (d *decision) admitCall(r *run, c ponder.Call, a *actionState) (ponder.Body, ponder.BudgetSpent) {
	chain := d.roles[c.Role]
	if len(chain) == 0 {
		return nil, ponder.BudgetSpent{What: noModel}
	}
	if r.budgetNotified && r.callsSinceNotified >= maxFinalCalls {
		return nil, ponder.BudgetSpent{What: "calls"}
	}
	m := chain[firstCandidate(chain, a.model)]
	req := c.Request
	req.MaxTokens = min(cmp.Or(max(0, req.MaxTokens), defaultMaxTokens), maxCallTokens)
	if m.MaxOutput > 0 {
		req.MaxTokens = min(req.MaxTokens, m.MaxOutput)
	}
	size := req.Size()
	in := d.tokensIn(m, size)
	out, reached := d.fitBudgets(r, m, in, req.MaxTokens)
	if reached.What == "" {
		out, reached = d.fitTime(r, c, m, size, out)
	}
	if reached.What != "" {
		return nil, reached
	}
	req.MaxTokens = out
	held := maxCost(m, in, out)
	twice := held.Add(held)
	if req.Hedge = m.Hedge && !c.Shown && d.hasHeadroom(r, twice.Add(held)); req.Hedge {
		held = twice
	}
	for up := r; up != nil; up = up.parent {
		d.held[up.ID] = d.held[up.ID].Add(held)
	}
	return ponder.CallStarted{Role: c.Role, Mode: r.Mode, Model: m.Name(), Request: &req, Size: size, Reserved: held, Answer: c.Answer, Until: c.Until}, reached
}

// firstCandidate returns the index of the first open model of a chain from the named model
// on. If all of them are closed, it returns the index of the named model.
func firstCandidate(chain []ponder.Model, name string) int {
	at := max(0, slices.IndexFunc(chain, func(m ponder.Model) bool { return m.Name() == name }))
	if at == len(chain)-1 {
		return at
	}
	return at + max(0, firstOpen(chain[at:]))
}

// firstOpen returns the index of the first model that accepts requests now, or -1.
func firstOpen(models []ponder.Model) int {
	return slices.IndexFunc(models, func(m ponder.Model) bool { _, ok := llm.Available(m.Model); return ok })
}

// fitBudgets returns how many tokens a call may write to fit every budget above its run.
// The result is at most out and at least min(out, minTokens). If even that does not fit,
// fitBudgets returns the limit.
func (d *decision) fitBudgets(r *run, m ponder.Model, in, out int) (int, ponder.BudgetSpent) {
	minOut := min(out, minTokens)
	for up := r; up != nil; up = up.parent {
		limit, reserved := up.Budget.Cost, up.reserved()
		used := up.spent.Add(up.held).Add(d.held[up.ID])
		if limit.Money > 0 && !m.Price.Known() {
			return 0, up.Budget.SpentOf("money")
		}
		if limit.Tokens > 0 {
			out = min(out, limit.Tokens-reserved.Tokens-used.Tokens-in)
		}
		if limit.Money > 0 {
			out = min(out, affordableTokens(m.Price, limit.Money-reserved.Money-used.Money, in))
		}
		if what := exceededLimit(used.Add(maxCost(m, in, minOut)), limit, reserved); what != "" {
			return 0, up.Budget.SpentOf(what)
		}
	}
	return max(out, minOut), ponder.BudgetSpent{}
}

// hasHeadroom reports whether every budget above a run has room for the cost c. A second
// request must leave room for another call, so that it prevents none.
func (d *decision) hasHeadroom(r *run, c ponder.Cost) bool {
	for up := r; up != nil; up = up.parent {
		if exceededLimit(up.spent.Add(up.held).Add(d.held[up.ID]).Add(c), up.Budget.Cost, up.reserved()) != "" {
			return false
		}
	}
	return true
}

// reserved returns the part of the budget that the calls of the run may not use yet.
func (r *run) reserved() ponder.Cost {
	if r.budgetNotified {
		return ponder.Cost{}
	}
	return conclusionReserve(r.Budget)
}

// affordableTokens returns how many tokens the amount m buys at price p after reading in tokens.
func affordableTokens(p ponder.Price, m ponder.Money, in int) int {
	rates := p.Rates(in)
	left := float64(m) - float64(in)*max(rates.Input, rates.CacheWrite)
	if rates.Output <= 0 {
		return maxCallTokens
	}
	return int(max(0, min(left/rates.Output, maxCallTokens)))
}

// tokensIn returns a high estimate of the tokens of a request of size bytes. It learns from
// the usage that the model reported on this thread.
func (t *threadState) tokensIn(m ponder.Model, size int) int {
	return t.estimator.Tokens(m.Name(), size)*6/5 + 16
}

// maxCost returns the highest cost of a call to m.
func maxCost(m ponder.Model, in, out int) ponder.Cost {
	c := ponder.Cost{Calls: 1, Tokens: in + out}
	if m.Price.Known() {
		c.Money = max(m.Price.Cost(llm.Usage{Input: in, Output: out}), m.Price.Cost(llm.Usage{CacheWrite: in, Output: out}))
	}
	return c
}

// settle returns the charge for a call. The call held a cost, read and wrote so many bytes,
// and claims the usage u. The charge is at least the cost that the bytes imply, and at most
// twice the held cost. A hedged call is two calls, each with the whole request.
func settle(m ponder.Model, held ponder.Cost, read, wrote int, u llm.Usage) (ponder.Cost, ponder.PriceSource) {
	const maxBytesPerToken = 8 // of a token
	read *= requestCount(u.Hedged)
	in, out := max(u.Total()-u.Output, (read+maxBytesPerToken-1)/maxBytesPerToken), max(u.Output, wrote/maxBytesPerToken)
	c := ponder.Cost{Calls: requestCount(u.Hedged), Tokens: min(in+out, 2*held.Tokens)}
	source := cmp.Or(m.Price.Source, ponder.PriceUnknown)
	switch {
	case u.Cost != nil && *u.Cost >= 0:
		c.Money, source = ponder.Money(*u.Cost), ponder.PriceReported
		if source == ponder.PriceReported && m.Price.Source == ponder.PriceLocal {
			source = ponder.PriceLocal
		}
	case m.Price.Known():
		c.Money = max(m.Price.Cost(u), m.Price.Cost(llm.Usage{Input: read / maxBytesPerToken, Output: wrote / maxBytesPerToken}))
	}
	if held.Money > 0 {
		c.Money = min(c.Money, 2*held.Money)
	}
	return c, source
}

func requestCount(hedged bool) int {
	if hedged {
		return 2
	}
	return 1
}

// reserveShare is the divisor of tokens and money for the reserve of a budget without
// Reserve.
const reserveShare = 5

// conclusionReserve returns the part of the budget b for the conclusion.
func conclusionReserve(b ponder.Budget) ponder.Cost {
	r := b.Reserve
	if r == (ponder.Cost{}) {
		r = ponder.Cost{Calls: 1, Tokens: b.Tokens / reserveShare, Money: b.Money / reserveShare}
	}
	return r
}

func halfCost(c ponder.Cost) ponder.Cost {
	return ponder.Cost{Calls: c.Calls / 2, Tokens: c.Tokens / 2, Money: c.Money / 2}
}

// exceededLimit names the part of c that exceeds limit minus kept, or returns "". A zero limit is
// no limit.
func exceededLimit(c, limit, reserved ponder.Cost) string {
	switch {
	case limit.Calls > 0 && c.Calls > limit.Calls-reserved.Calls:
		return "calls"
	case limit.Tokens > 0 && c.Tokens > limit.Tokens-reserved.Tokens:
		return "tokens"
	case limit.Money > 0 && c.Money > limit.Money-reserved.Money:
		return "money"
	}
	return ""
}
