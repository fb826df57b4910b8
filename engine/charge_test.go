package engine

import (
	"testing"

	"ponder"
)

// The call that interpreted a sentence is charged to the run and to the runs above it.
func TestChargeSteer(t *testing.T) {
	s := newThreadState(map[string][]*ponder.Mode{}, nil)
	for i, ev := range []ponder.Event{
		{Run: "run_1", Body: ponder.RunStarted{Mode: "m"}},
		{Run: "run_1/a", Body: ponder.RunStarted{Mode: "m"}},
		{Run: "run_1/a", Cause: "steer-x", Body: ponder.Steer{Do: ponder.Interpret, Call: &ponder.SteerCall{Spent: ponder.Cost{Calls: 1, Tokens: 20, Money: 7}}}},
		{Run: "run_1", Cause: "steer-y", Body: ponder.Steer{Do: ponder.Interpret, Call: &ponder.SteerCall{Spent: ponder.Cost{Calls: 1, Tokens: 1, Money: 1}}}},
		{Run: "run_2", Cause: "steer-z", Body: ponder.Steer{Do: ponder.Interpret, Call: &ponder.SteerCall{Spent: ponder.Cost{Calls: 1}}}},
		{Run: "run_1", Cause: "steer-w", Body: ponder.Steer{Do: ponder.Interpret}},
	} {
		ev.Seq = ponder.Seq(i + 1)
		s.apply(ev)
	}
	for run, want := range map[ponder.RunID]ponder.Cost{"run_1": {Calls: 2, Tokens: 21, Money: 8}, "run_1/a": {Calls: 1, Tokens: 20, Money: 7}} {
		if got := s.runs[run].spent; got != want {
			t.Errorf("%s spent %+v, want %+v", run, got, want)
		}
	}
}
