package ponder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
	var set Budget
	if err := json.Unmarshal(args, &set); err != nil {
		return b, errors.New("cannot decode the limits")
	}
	if set.Time < 0 || set.Calls < 0 || set.Tokens < 0 || set.Money < 0 {
		return b, errors.New("a limit must be more than zero")
	}
	if set.Time == 0 && set.Cost == (Cost{}) {
		return b, errors.New("no limit is set")
	}
	b.Time, b.Calls = cmp.Or(set.Time, b.Time), cmp.Or(set.Calls, b.Calls)
	b.Tokens, b.Money = cmp.Or(set.Tokens, b.Tokens), cmp.Or(set.Money, b.Money)
	return b, nil
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
