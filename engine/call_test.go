package engine

import (
	"math"
	"testing"

	"ponder"
	"ponder/llm"
)

// clampUsage bounds the total of the claimed parts.
func TestClampUsage(t *testing.T) {
	for _, c := range []struct{ claim, want llm.Usage }{
		{llm.Usage{}, llm.Usage{}},
		{llm.Usage{Input: 60, Output: 40, Reasoning: 30}, llm.Usage{Input: 60, Output: 40, Reasoning: 30}},
		{llm.Usage{Input: -1, Output: 40}, llm.Usage{Output: 40, Estimated: true}},
		{llm.Usage{Input: 150, Output: 50}, llm.Usage{Input: 66, Output: 33, Estimated: true}},
		{llm.Usage{Input: math.MaxInt, CacheRead: math.MaxInt, Output: math.MaxInt, Reasoning: math.MaxInt}, llm.Usage{Input: 33, CacheRead: 33, Output: 33, Reasoning: 33, Estimated: true}},
	} {
		if got := clampUsage(c.claim, 100); got != c.want {
			t.Errorf("of %+v: %+v, want %+v", c.claim, got, c.want)
		}
	}
	if got := clampUsage(llm.Usage{Input: math.MaxInt, Output: math.MaxInt}, 2*maxCallTokens); got.Total() != 2*maxCallTokens {
		t.Errorf("of the most that can be claimed: %d", got.Total())
	}
}

// settle charges at least what the bytes of each request imply.
func TestSettleWrongUsage(t *testing.T) {
	m := ponder.Model{Price: ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}}
	for _, tt := range []struct {
		used llm.Usage
		want ponder.Cost
	}{
		{llm.Usage{Input: 1, Output: 1}, ponder.Cost{Calls: 1, Tokens: 1010, Money: 1040}},
		{llm.Usage{Input: 1, Output: 1, Hedged: true}, ponder.Cost{Calls: 2, Tokens: 2010, Money: 2040}},
		{llm.Usage{Input: 5000, Output: 10, Hedged: true}, ponder.Cost{Calls: 2, Tokens: 5010, Money: 5040}},
	} {
		if got, _ := settle(m, ponder.Cost{Calls: 2, Tokens: 9000, Money: 9000}, 8000, 80, tt.used); got != tt.want {
			t.Errorf("%+v is charged as %+v, want %+v", tt.used, got, tt.want)
		}
	}
}

// A request above the limit of the price has the higher price in reservations and charges.
func TestLongContextPrice(t *testing.T) {
	p := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4, Over: 1000, Long: llm.Price{Input: 2, Output: 8}}
	m := ponder.Model{Price: p}
	for in, want := range map[int]ponder.Money{1000: 1040, 1001: 2082} {
		if got := maxCost(m, in, 10).Money; got != want {
			t.Errorf("a call that reads %d tokens reserves %d, want %d", in, got, want)
		}
		if got, _ := settle(m, ponder.Cost{Calls: 1, Tokens: 9000, Money: 9000}, 8, 8, llm.Usage{Input: in, Output: 10}); got.Money != want {
			t.Errorf("a call that reads %d tokens costs %d, want %d", in, got.Money, want)
		}
	}
	for in, want := range map[int]int{1000: 1000, 2000: 125} {
		if got := affordableTokens(p, 5000, in); got != want {
			t.Errorf("after %d tokens, %d are affordable, want %d", in, got, want)
		}
	}
}
