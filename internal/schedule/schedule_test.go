package schedule

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)

// However long no process ran, one run catches up, and the next keeps the rhythm.
func TestAdvance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := Schedule{Every: 24 * time.Hour, Next: start}
	for range 200 {
		now := s.Next.Add(time.Duration(rng.Int64N(int64(10 * s.Every))))
		if !s.IsDue(now) {
			t.Fatalf("not due at %s: %+v", now, s)
		}
		s = s.Advance(now)
		if s.IsDue(now) || s.Next.Sub(now) > s.Every || s.Next.Sub(start)%s.Every != 0 {
			t.Fatalf("at %s, the next run is at %s", now, s.Next)
		}
		if again := s.Advance(now); again.Next != s.Next {
			t.Fatalf("advanced twice to %s", again.Next)
		}
	}
}

func TestStarted(t *testing.T) {
	s := Schedule{}.Started("", errors.New("no\nmodel"))
	if s.Error != "no model" || s.Runs != 0 {
		t.Errorf("%+v", s)
	}
	if s = s.Started("thr_1", nil); s.Error != "" || s.Runs != 1 || s.Last != "thr_1" {
		t.Errorf("%+v", s)
	}
}

func TestParseEvery(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10m": 10 * time.Minute, "6h": 6 * time.Hour, " 1D ": 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1h30m": 90 * time.Minute, "366d": MaxEvery,
	} {
		got, err := ParseEvery(text)
		if got != want || err != nil {
			t.Errorf("%q: %s, error %v", text, got, err)
			continue
		}
		if back, err := ParseEvery(EveryText(got)); back != got || err != nil {
			t.Errorf("%q is written as %q", text, EveryText(got))
		}
	}
	for _, text := range []string{"", "d", "1", "0d", "-1d", "367d", "9m", "1y", "1.5d", "99999999999999999999d"} {
		if d, err := ParseEvery(text); err == nil {
			t.Errorf("%q is read as %s", text, d)
		}
	}
}
