package subconscious

import (
	"reflect"
	"testing"
	"time"

	"ponder"
)

// A user's answer to an escalation settles no topic. A dismissal raises the bar for its like.
func TestApplyAnswer(t *testing.T) {
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	s := NewState()
	s.ActiveThreads = []Entry{{ID: "e1", Summary: "The disk is full", Strength: 5, Created: at, LastSeen: at}}
	s.EscalationHistory = []EscalationRecord{{ID: "esc_1", Summary: "The disk is full", Outcome: Messaged, Created: at}}
	s.Internal.Alerts = []Alert{{Text: "The disk is full", Importance: 8, At: at, Escalation: "esc_1"}, {Text: "Mail", Importance: 5, At: at, Escalation: "esc_2"}}
	for _, as := range []string{Messaged, Acted, Remembered} {
		if got := s.Apply(ponder.Event{Seq: 9, Time: at, Body: ponder.Resolution{Ref: "esc_1", As: as, Content: "thr_1"}}); !reflect.DeepEqual(got, s) {
			t.Errorf("%s changes the state: %+v", as, got)
		}
	}
	got := s.Apply(ponder.Event{Seq: 9, Time: at, Body: ponder.Resolution{Ref: "esc_1", As: Dismissed}})
	if got.Internal.Alerts[0].Dismissed != 1 || got.Internal.Alerts[1].Dismissed != 0 || len(got.ActiveThreads) != 1 || len(got.Internal.Settled) != 0 {
		t.Errorf("%+v", got)
	}
	if s.Internal.Alerts[0].Dismissed != 0 {
		t.Error("Apply changed its receiver")
	}
}

func TestRollbackBefore(t *testing.T) {
	state := func(id string) []byte {
		return []byte(`{"active_threads":[{"id":"` + id + `","summary":"x","strength":3}],"aside":{"tick":1}}`)
	}
	events := func(yield func(ponder.Event, error) bool) {
		_ = yield(ponder.Event{Seq: 1, Body: ponder.Subconscious{Tick: 1, State: state("e1")}}, nil) &&
			yield(ponder.Event{Seq: 2, Body: ponder.Subconscious{Tick: 2, State: state("e2")}}, nil)
	}
	back, _, err := RollbackBefore(events, 2)
	if got, ok := ReadState(back.State); err != nil || !ok || back.As != "rolled_back" || back.Ref != "2" || len(got.ActiveThreads) != 1 || got.ActiveThreads[0].ID != "e1" {
		t.Errorf("%+v, %v", back, err)
	}
	if back, newest, err := RollbackBefore(events, 7); err != nil || back.As != "" || newest != 1 {
		t.Errorf("an unknown tick: %+v, %d, %v", back, newest, err)
	}
}
