package ponder_test

import (
	"testing"
	"time"

	"ponder"
)

func TestBudgetSpentText(t *testing.T) {
	b := ponder.Budget{Time: 90 * time.Minute, Cost: ponder.Cost{Calls: 1, Tokens: 200_000, Money: 10_000}}
	for what, want := range map[string][2]string{
		"time":   {"time limit of 1h30m reached", "time limit reached"},
		"calls":  {"limit of 1 call reached", "limit of calls reached"},
		"tokens": {"limit of 200,000 tokens reached", "limit of tokens reached"},
		"money":  {"budget of $0.01 reached", "budget reached"},
	} {
		spent, old := b.SpentOf(what), ponder.BudgetSpent{What: what}
		if spent.String() != want[0] || old.String() != want[1] || !spent.EndReason().IsBudget() {
			t.Errorf("%s: %q, without a limit %q, code %s; want %q", what, spent, old, spent.EndReason(), want)
		}
	}
}

// Events of older versions have no code: it follows from their text.
func TestEndReasonOfOldEvents(t *testing.T) {
	for _, tt := range []struct {
		b    ponder.RunFinished
		want ponder.EndReason
	}{
		{ponder.RunFinished{Status: ponder.Completed, Reason: "money is spent"}, ponder.EndMoney},
		{ponder.RunFinished{Status: ponder.Completed, Reason: "time is spent, and the model stopped answering: x"}, ponder.EndTime},
		{ponder.RunFinished{Status: ponder.Completed, Reason: "loop: the last 2 calls added almost nothing new"}, ponder.EndLoop},
		{ponder.RunFinished{Status: ponder.Failed, Reason: "no model"}, ponder.EndFailed},
		{ponder.RunFinished{Status: ponder.Cancelled}, ponder.EndCancelled},
		{ponder.RunFinished{Status: ponder.Completed, Reason: "the documents have nothing more"}, ""},
		{ponder.RunFinished{Status: ponder.Completed, Reason: "time is spent", End: ponder.EndUser}, ponder.EndUser},
	} {
		if got := tt.b.EndReason(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.b, got, tt.want)
		}
	}
}
