package ponder_test

import (
	"testing"
	"time"

	"ponder"
)

func TestMoneyString(t *testing.T) {
	for m, want := range map[ponder.Money]string{
		0: "$0.00", 7: "$0.000007", 100: "$0.0001", 1_234: "$0.0012", 9_999: "$0.0100", 10_000: "$0.01", 1_250_000: "$1.25",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is written %s, want %s", int64(m), got, want)
		}
	}
	b := ponder.Budget{Time: 20 * time.Second, Cost: ponder.Cost{Calls: 3, Money: 100}}
	if got, want := b.String(), "20s, 3 calls, $0.0001"; got != want {
		t.Errorf("a budget is written %s, want %s", got, want)
	}
}
