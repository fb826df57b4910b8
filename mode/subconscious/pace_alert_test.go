package subconscious

import (
	"fmt"
	"testing"
	"time"

	"ponder"
)

// TestHostileDay has an alert pending all day; messages stay few.
func TestHostileDay(t *testing.T) {
	s, r := NewState(), Rules{Cooldown: 15 * time.Minute}
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	var told int
	for now := start; now.Before(start.Add(24 * time.Hour)); now = now.Add(5 * time.Minute) {
		s.Internal.Pending = []PendingEscalation{{Summary: "an alert", Importance: 10}}
		if at, _ := r.RaisesAt(s); now.Before(at) {
			continue
		}
		s.Internal.LastRaised, told = now, told+1
		s = s.Apply(ponder.Event{Time: now, Body: ponder.Escalation{ID: fmt.Sprintf("esc_%d", told), Content: "an alert", Outcome: Messaged}})
	}
	if told < manyMessages || told > 20 {
		t.Errorf("%d messages in a day", told)
	}
	s.Internal.LastRaised = s.Internal.LastRaised.Add(48 * time.Hour)
	if got := r.escalationPause(s); got != r.Cooldown {
		t.Errorf("days later the pause is %s", got)
	}
}

func TestPause(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		told           int
		cooldown, want time.Duration
	}{
		{0, 15 * time.Minute, 15 * time.Minute}, {9, 15 * time.Minute, 15 * time.Minute}, {10, 15 * time.Minute, 30 * time.Minute},
		{12, 15 * time.Minute, 2 * time.Hour}, {16, 15 * time.Minute, 4 * time.Hour}, {16, 6 * time.Hour, 6 * time.Hour}, {10, time.Second, 2 * time.Minute},
	} {
		s := NewState()
		s.Internal.LastRaised = at
		for range test.told {
			s.Internal.MessageTimes = append(s.Internal.MessageTimes, at.Add(-time.Hour))
		}
		if got := (Rules{Cooldown: test.cooldown}).escalationPause(s); got != test.want {
			t.Errorf("%d told, cooldown %s: %s, want %s", test.told, test.cooldown, got, test.want)
		}
	}
}

func TestForgottenStays(t *testing.T) {
	s, at := NewState(), time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	say := func(text, as string) {
		at = at.Add(time.Minute)
		s = s.Apply(ponder.Event{Time: at, Body: ponder.Resolution{Content: text, As: as}})
	}
	say("the newsletter of the shop", asForgotten)
	for i := range 3 * maxSettled {
		say(fmt.Sprintf("resolved topic %d", i), "")
		say(fmt.Sprintf("forgotten topic %d", i), asForgotten)
	}
	list := s.clampLimits().Internal.Settled
	if len(list) != 4*maxSettled+1 || list[0].Text != "the newsletter of the shop" {
		t.Errorf("%d are kept, the first is %q", len(list), list[0].Text)
	}
	if newest := list[len(list)-2]; newest.Text != fmt.Sprintf("resolved topic %d", 3*maxSettled-1) {
		t.Errorf("the newest resolved is %q", newest.Text)
	}
}
