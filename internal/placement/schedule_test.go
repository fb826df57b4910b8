package placement

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func tickNothing(context.Context, time.Time) error { return nil }

func TestNewSchedule(t *testing.T) {
	tests := []struct{ name, expr, next, err string }{
		{"each minute", "* * * * *", "2000-01-01T00:01:00Z", ""},
		{"each five minutes", "*/5 * * * *", "2000-01-01T00:05:00Z", ""},
		{"seconds first", "30 * * * * *", "2000-01-01T00:00:30Z", ""},
		{"names and ranges", " 0  9-17 * * mon-fri ", "2000-01-03T09:00:00Z", ""},
		{"none", "", "", "has 0 fields; want 5 or 6"},
		{"four", "* * * *", "", "has 4 fields; want 5 or 6"},
		{"a word", "@hourly", "", "has 1 fields; want 5 or 6"},
		{"too big", "61 * * * *", "", "above maximum"},
		{"never", "0 0 30 2 *", "", "matches no time"},
		{"a time zone", "TZ=Nowhere * * * * *", "", `cron expression "TZ=Nowhere * * * * *"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := newSchedule("x", tt.expr, tickNothing)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
			if got := s.times.Next(at).Format(time.RFC3339); got != tt.next {
				t.Errorf("next is %s, want %s", got, tt.next)
			}
		})
	}
}

func FuzzNewSchedule(f *testing.F) {
	for _, s := range []string{"* * * * *", "0 */5 9-17 1,2 jan ?", "TZ=UTC * * * * *", "@every 1s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		s, err := newSchedule("x", expr, tickNothing)
		if err == nil && !s.times.Next(s.since).After(s.since) {
			t.Errorf("%q does not go forward", expr)
		}
	})
}

func TestIsMissed(t *testing.T) {
	s, err := newSchedule("x", "*/5 * * * *", tickNothing)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2000, 1, 1, 0, 2, 0, 0, time.UTC)
	s.since = begin
	tests := []struct {
		name string
		at   time.Duration // since start
		late time.Duration
		want bool
	}{
		{"due", 3 * time.Minute, time.Second, false},
		{"late", 3 * time.Minute, 4 * time.Minute, false},
		{"as late as the next", 3 * time.Minute, 5 * time.Minute, true},
		{"before this process", -2 * time.Minute, 2*time.Minute + time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := begin.Add(tt.at)
			if got := s.isMissed(at, at.Add(tt.late)); got != tt.want {
				t.Errorf("missed is %t, want %t", got, tt.want)
			}
		})
	}
}

func TestScheduleInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newMemory(t, nil)
		var at []string
		err := p.Schedule(t.Context(), "x", "*/10 * * * * *", func(_ context.Context, due time.Time) error {
			at = append(at, due.UTC().Format("05"))
			time.Sleep(15 * time.Second) // longer than the interval
			return errors.New("it does not matter")
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(65 * time.Second)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if want := []string{"10", "30", "50"}; !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v", at, want)
		}
	})
}
