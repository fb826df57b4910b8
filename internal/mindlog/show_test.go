package mindlog

import (
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/mode/subconscious"
)

func TestQuietText(t *testing.T) {
	night := time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC)
	m := New()
	say := func(id string, importance int, at time.Time, outcome string) {
		m.events = append(m.events, ponder.Event{Time: at, Body: ponder.Escalation{ID: id, Importance: importance, Outcome: outcome}})
	}
	say("a", 6, night, subconscious.Messaged)
	say("b", 9, night, subconscious.Messaged)
	say("c", 6, night, subconscious.Dismissed)
	say("d", 6, night.Add(-30*time.Hour), subconscious.Messaged)
	say("e", 6, night, subconscious.Messaged)
	m.deliveries["e"] = map[string]time.Time{"desktop": night, "email-me": night}
	m.deliveries["a"] = map[string]time.Time{"desktop": night}
	quiet := config.Hours("22:00-07:30")
	got := m.quietText([]string{"desktop", "email-me"}, quiet, night)
	if want := "until 07:30: 1 message waits for email-me;"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := m.quietText(nil, quiet, night); got != "" {
		t.Errorf("without channels: %q", got)
	}
}
