package ponder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Cost is the cost of calls.
type Cost struct {
	Calls  int   `json:"calls,omitempty"`
	Tokens int   `json:"tokens,omitempty"`
	Money  Money `json:"micro_usd,omitempty"`
}

// Money is an amount in millionths of a US dollar.
type Money int64

// USD returns the amount in dollars.
func (m Money) USD() float64 { return float64(m) / 1e6 }

// String returns the amount with the digits that a small amount needs: "$0.50", "$0.0012",
// "$0.000007".
func (m Money) String() string {
	digits := 2
	switch {
	case m > 0 && m < 100:
		digits = 6
	case m > 0 && m < 10_000:
		digits = 4
	}
	return fmt.Sprintf("$%.*f", digits, m.USD())
}

// A Budget limits a run and all runs below it. Zero means no limit.
//
// The engine admits a call only if its highest cost fits the rest of each budget, for its
// run and each run above it. To fit, the engine cuts MaxTokens down to the length of a
// short answer. If a call still does not fit, the run gets a [BudgetSpent] event and may
// then use the reserve. The engine refuses a call that exceeds the reserve too: it sends no
// request and appends an error as the result.
//
// The overspend is at most the cost held for admitted calls. The engine cuts an answer at
// the held tokens, and it charges at most twice the held cost for any usage that the model
// claims.
type Budget struct {
	Cost
	Time time.Duration `json:"time_ns,omitempty"` // thinking time of the run

	// Reserve is the part of Cost for the conclusion. The default is one call, a fifth of
	// the tokens and a fifth of the money.
	Reserve Cost `json:"reserve,omitzero"`
}

// ApplyLimits returns the budget with the limits of a JSON object of the same form, as [SetBudget]
// applies them. It keeps limits that the object does not have. The text of an error is for
// users.
func (b Budget) ApplyLimits(args json.RawMessage) (Budget, error) {
	c, err := ParseLimits(args)
	return c.Apply(b), err
}

// A LimitChange sets the limits that are not zero, and removes others.
type LimitChange struct {
	Budget
	Unlimited []string `json:"unlimited,omitempty"` // the removed limits: time, calls, tokens, money
}

// ParseLimits decodes the Args of [SetBudget]. After an error, the change is empty.
func ParseLimits(args json.RawMessage) (LimitChange, error) {
	var c LimitChange
	if err := json.Unmarshal(args, &c); err != nil {
		return LimitChange{}, errors.New("cannot decode the limits")
	}
	if c.Time < 0 || c.Calls < 0 || c.Tokens < 0 || c.Money < 0 {
		return LimitChange{}, errors.New("a limit must be more than zero")
	}
	if c.Time == 0 && c.Cost == (Cost{}) && len(c.Unlimited) == 0 {
		return LimitChange{}, errors.New("no limit is set")
	}
	return c, nil
}

// Apply returns b after the change.
func (c LimitChange) Apply(b Budget) Budget {
	for _, name := range c.Unlimited {
		switch name {
		case "time":
			b.Time = 0
		case "calls":
			b.Calls = 0
		case "tokens":
			b.Tokens = 0
		case "money":
			b.Money = 0
		}
	}
	b.Time, b.Calls = cmp.Or(max(0, c.Time), b.Time), cmp.Or(max(0, c.Calls), b.Calls)
	b.Tokens, b.Money = cmp.Or(max(0, c.Tokens), b.Tokens), cmp.Or(max(0, c.Money), b.Money)
	return b
}

// Revert returns the change that restores the limits of b that c changes.
func (c LimitChange) Revert(b Budget) (back LimitChange) {
	restore := func(name string, changed, old bool) bool {
		if changed && !old {
			back.Unlimited = append(back.Unlimited, name)
		}
		return changed && old
	}
	removed := func(name string) bool { return slices.Contains(c.Unlimited, name) }
	if restore("time", c.Time > 0 || removed("time"), b.Time > 0) {
		back.Time = b.Time
	}
	if restore("calls", c.Calls > 0 || removed("calls"), b.Calls > 0) {
		back.Calls = b.Calls
	}
	if restore("tokens", c.Tokens > 0 || removed("tokens"), b.Tokens > 0) {
		back.Tokens = b.Tokens
	}
	if restore("money", c.Money > 0 || removed("money"), b.Money > 0) {
		back.Money = b.Money
	}
	return back
}

// String returns the change as text, such as "30m0s, no limit of money".
func (c LimitChange) String() string {
	var list []string
	if c.Time > 0 || c.Cost != (Cost{}) {
		list = append(list, c.Budget.String())
	}
	for _, name := range c.Unlimited {
		list = append(list, "no limit of "+name)
	}
	return strings.Join(list, ", ")
}

// String returns the limits as text, such as "30m0s, 100 calls, $0.50".
func (b Budget) String() string {
	var list []string
	if b.Time > 0 {
		list = append(list, b.Time.String())
	}
	if b.Calls > 0 {
		list = append(list, strconv.Itoa(b.Calls)+" calls")
	}
	if b.Tokens > 0 {
		list = append(list, strconv.Itoa(b.Tokens)+" tokens")
	}
	if b.Money > 0 {
		list = append(list, b.Money.String())
	}
	if list == nil {
		return "no limit"
	}
	return strings.Join(list, ", ")
}

func (c Cost) Add(d Cost) Cost {
	return Cost{c.Calls + d.Calls, c.Tokens + d.Tokens, c.Money + d.Money}
}

func (c Cost) Sub(d Cost) Cost {
	return Cost{c.Calls - d.Calls, c.Tokens - d.Tokens, c.Money - d.Money}
}
