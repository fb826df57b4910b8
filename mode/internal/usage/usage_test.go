package usage

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

func TestAdd(t *testing.T) {
	var u Usage
	var spent ponder.Cost
	for _, b := range []ponder.CallFinished{
		{Model: "a", Usage: llm.Usage{Input: 10, Output: 5}, Spent: ponder.Cost{Money: 1000}},
		{Model: "a", Outcome: ponder.Outcome{Error: "down"}, Price: ponder.PriceUnknown},
		{Model: "b\x1b", Outcome: ponder.Outcome{Error: "late", Dropped: true}},
		{Model: "c", Outcome: ponder.Outcome{Refused: true}},
		{Usage: llm.Usage{Output: 1}},
	} {
		spent = spent.Add(b.Spent)
		u.Add(b, spent.Money)
	}
	want := Usage{Calls: 4, Failed: 1, Input: 10, Output: 6, Total: 16, Unpriced: 1, USD: ponder.Money(1000).USD(), Models: []Model{
		{Model: "a", Calls: 2, Failed: 1, Input: 10, Output: 5, Unpriced: 1, USD: ponder.Money(1000).USD()}, {Model: "b", Calls: 1}, {Model: "(unknown)", Calls: 1, Output: 1},
	}}
	if diff := cmp.Diff(want, u); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 3 * maxModels {
		u.Add(ponder.CallFinished{Model: fmt.Sprint(i)}, 0)
	}
	if len(u.Models) > maxModels+1 || u.Calls != 4+3*maxModels {
		t.Errorf("%d models, %d calls", len(u.Models), u.Calls)
	}
	u.SetTotals(ponder.Cost{Calls: 1})
	var none Usage
	none.SetTotals(ponder.Cost{Calls: 7, Tokens: 70})
	if u.Calls == 1 || none.Calls != 7 || none.Total != 70 {
		t.Errorf("sums: %d and %d calls", u.Calls, none.Calls)
	}
}

func TestLimits(t *testing.T) {
	b := ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 3, Tokens: 9, Money: 2_000_000}}
	if diff := cmp.Diff(Limits{Seconds: 60, Calls: 3, Tokens: 9, USD: ponder.Money(2_000_000).USD()}, LimitsOf(b)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1m0s of thinking", "3 calls", "$0.0002"}, DescribeLimits(ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 3, Money: 200}})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPercentage(t *testing.T) {
	b := ponder.Budget{Time: 100 * time.Second, Cost: ponder.Cost{Calls: 4}}
	for _, tt := range []struct {
		worked time.Duration
		calls  int
		want   float64
	}{{0, 0, 0}, {10 * time.Second, 0, 10}, {10 * time.Second, 1, 25}, {time.Hour, 1, 100}, {-time.Hour, -1, 0}} {
		if got := Percentage(b, tt.worked, ponder.Cost{Calls: tt.calls}); got != tt.want {
			t.Errorf("%v and %d calls: %v, want %v", tt.worked, tt.calls, got, tt.want)
		}
	}
	if got := Percentage(ponder.Budget{}, time.Hour, ponder.Cost{Calls: 9}); got != 0 {
		t.Errorf("without limits: %v", got)
	}
}
