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

// A Cost is what calls cost.
type Cost struct {
	Calls  int   `json:"calls,omitempty"`
	Tokens int   `json:"tokens,omitempty"`
	Money  Money `json:"micro_usd,omitempty"`
}

// Money is an amount in millionths of a US dollar.
type Money int64

// USD returns the amount in dollars.
func (m Money) USD() float64 { return float64(m) / 1e6 }

// String returns the amount as people write it, with as many digits as a small one
// needs: "$0.50", "$0.0012", "$0.000007".
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
// A call is admitted only if what it may cost at most fits in what is left, for
// its run and each one above it; its MaxTokens is cut to what fits, as long as
// that is an answer's worth. When a call does not fit, the run gets a
// [BudgetSpent] event, and from then on may use the reserve. A call that does
// not fit even so is refused: its result is an error, and it is not made.
//
// Overspend is at most the sum of what was held for admitted calls: what a
// model writes is cut off at what was held, and of what it claims to have used,
// no more than twice what was held is believed.
type Budget struct {
	Cost
	Time time.Duration `json:"time_ns,omitempty"` // thinking time of the run

	// Reserve is the part of Cost that is kept for the conclusion. If it is
	// zero, a limit keeps one call, a fifth of the tokens, a fifth of the money.
	Reserve Cost `json:"reserve,omitzero"`
}

// With returns the budget with the limits that a JSON object of the same form
// has, which is what a [SetBudget] does. An error says what is wrong with it, in
// words for users; then nothing changes. It has no limit if none is set.
func (b Budget) With(args json.RawMessage) (Budget, error) {
	var set Budget
	if err := json.Unmarshal(args, &set); err != nil {
		return b, errors.New("the limits can't be read")
	}
	if set.Time < 0 || set.Calls < 0 || set.Tokens < 0 || set.Money < 0 {
		return b, errors.New("a limit is more than zero")
	}
	if set.Time == 0 && set.Cost == (Cost{}) {
		return b, errors.New("no limit is named")
	}
	b.Time, b.Calls = cmp.Or(set.Time, b.Time), cmp.Or(set.Calls, b.Calls)
	b.Tokens, b.Money = cmp.Or(set.Tokens, b.Tokens), cmp.Or(set.Money, b.Money)
	return b, nil
}

// String returns the limits in words, such as "30m0s, 100 calls, $0.50".
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

// Add returns the sum of c and d.
func (c Cost) Add(d Cost) Cost {
	return Cost{c.Calls + d.Calls, c.Tokens + d.Tokens, c.Money + d.Money}
}

// Sub returns the difference of c and d.
func (c Cost) Sub(d Cost) Cost {
	return Cost{c.Calls - d.Calls, c.Tokens - d.Tokens, c.Money - d.Money}
}
