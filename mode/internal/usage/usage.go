// Package usage sums up the consumption and limits of a run for views. Its JSON is exported.
package usage

import (
	"cmp"
	"fmt"
	"math"
	"ponder/internal/textkit"
	"slices"
	"time"

	"ponder"
)

// Limits are the budgets of a run. Zero means no limit.
type Limits struct {
	Seconds float64 `json:"time_seconds,omitempty"`
	Calls   int     `json:"calls,omitempty"`
	Tokens  int     `json:"tokens,omitempty"`
	USD     float64 `json:"cost_usd,omitempty"`
}

// LimitsOf converts a budget.
func LimitsOf(b ponder.Budget) Limits {
	return Limits{Seconds: b.Time.Seconds(), Calls: b.Calls, Tokens: b.Tokens, USD: b.Money.USD()}
}

// Budget converts limits.
func (l Limits) Budget() ponder.Budget {
	return ponder.Budget{
		Time: time.Duration(l.Seconds * float64(time.Second)).Round(time.Millisecond),
		Cost: ponder.Cost{Calls: l.Calls, Tokens: l.Tokens, Money: ponder.Money(math.Round(l.USD * 1e6))},
	}
}

// DescribeLimits describes the limits of a budget.
func DescribeLimits(b ponder.Budget) (words []string) {
	add := func(is bool, format string, arg any) {
		if is {
			words = append(words, fmt.Sprintf(format, arg))
		}
	}
	add(b.Time > 0, "%v of thinking", b.Time.Round(time.Second))
	add(b.Calls > 0, "%d calls", b.Calls)
	add(b.Tokens > 0, "%d tokens", b.Tokens)
	add(b.Money > 0, "%v", b.Money)
	return words
}

// Usage is the consumption of a run, including child runs.
type Usage struct {
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"` // including cached tokens
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"` // calls with unknown price, not in USD
	Models   []Model `json:"models"`
}

// Model is the consumption of one model.
type Model struct {
	Model    string  `json:"model"`
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"`
}

// maxModels is the number of models listed separately; providers may send any name.
const maxModels = 50

// Add adds a call, including failed attempts, but not calls never made. spent is the cost of all
// calls including this one.
func (u *Usage) Add(b ponder.CallFinished, spent ponder.Money) {
	if !b.Made() {
		return
	}
	one := Model{
		Model: cmp.Or(textkit.OneLine(b.Model), "(unknown)"), Calls: 1, Input: b.Usage.Total() - b.Usage.Output, Output: b.Usage.Output, USD: b.Spent.Money.USD(),
	}
	if b.Error != "" && !b.Dropped {
		one.Failed = 1
	}
	if b.Price == ponder.PriceUnknown {
		one.Unpriced = 1
	}
	of := func(m Model) bool { return m.Model == one.Model }
	i := slices.IndexFunc(u.Models, of)
	if i < 0 && len(u.Models) >= maxModels {
		one.Model = "(others)"
		i = slices.IndexFunc(u.Models, of)
	}
	if i < 0 {
		i, u.Models = len(u.Models), append(u.Models, Model{Model: one.Model})
	}
	u.Models[i].addModel(one)
	u.Calls, u.Failed, u.Unpriced = u.Calls+1, u.Failed+one.Failed, u.Unpriced+one.Unpriced
	u.Input, u.Output, u.Total, u.USD = u.Input+one.Input, u.Output+one.Output, u.Total+one.Input+one.Output, spent.USD()
}

func (m *Model) addModel(o Model) {
	m.Calls, m.Failed, m.Unpriced = m.Calls+o.Calls, m.Failed+o.Failed, m.Unpriced+o.Unpriced
	m.Input, m.Output, m.USD = m.Input+o.Input, m.Output+o.Output, m.USD+o.USD
}

// SetTotals sets the totals of a run whose calls are not visible.
func (u *Usage) SetTotals(spent ponder.Cost) {
	if u.Calls == 0 {
		u.Calls, u.Total, u.USD = spent.Calls, spent.Tokens, spent.Money.USD()
	}
}

// Percentage returns the used share of the nearest budget, from 0 to 100.
func Percentage(b ponder.Budget, worked time.Duration, spent ponder.Cost) float64 {
	percent, _ := NearestBudget(b, worked, spent)
	return percent
}

// NearestBudget returns the used share of the budget closest to its limit, from 0 to 100, and names that budget
// as [ponder.BudgetSpent] does. Without a limit the name is empty.
func NearestBudget(b ponder.Budget, worked time.Duration, spent ponder.Cost) (percent float64, what string) {
	for _, p := range []struct {
		what        string
		used, limit float64
	}{
		{"time", float64(worked.Milliseconds()), float64(b.Time.Milliseconds())}, {"calls", float64(spent.Calls), float64(b.Calls)},
		{"tokens", float64(spent.Tokens), float64(b.Tokens)}, {"money", float64(spent.Money), float64(b.Money)},
	} {
		if share := roundPercent(p.used, p.limit); p.limit > 0 && (what == "" || share > percent) {
			percent, what = share, p.what
		}
	}
	return percent, what
}

// TimePercentage returns the used share of the time, from 0 to 100, or 0 without a limit.
func TimePercentage(b ponder.Budget, worked time.Duration) float64 {
	return roundPercent(float64(worked.Milliseconds()), float64(b.Time.Milliseconds()))
}

func roundPercent(used, limit float64) float64 {
	if used <= 0 || limit <= 0 {
		return 0
	}
	return float64(int(min(1, used/limit)*1000+0.5)) / 10
}
