package web

import (
	"fmt"
	"time"
)

// parseDate parses a year, a month, a day, or a time in RFC 3339.
func parseDate(text string) (span, error) {
	for _, f := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {time.DateOnly, 0, 0, 1}, {time.RFC3339, 0, 0, 0}} {
		if t, err := time.Parse(f.layout, text); err == nil {
			t = t.UTC()
			return span{t, t.AddDate(f.years, f.months, f.days)}, nil
		}
	}
	return span{}, fmt.Errorf("%.40q is not a date: write it as 2024, 2024-03 or 2024-03-01", text)
}

// A span is the time range of a date. The end is exclusive.
type span struct{ from, to time.Time }

// dateRange returns the range from the start of one date to the end of another.
func dateRange(from, to string) (s span, err error) {
	if from != "" {
		f, err := parseDate(from)
		if err != nil {
			return s, fmt.Errorf("from: %w", err)
		}
		s.from = f.from
	}
	if to != "" {
		t, err := parseDate(to)
		if err != nil {
			return s, fmt.Errorf("to: %w", err)
		}
		s.to = t.to
	}
	if !s.from.IsZero() && !s.to.IsZero() && !s.from.Before(s.to) {
		return s, fmt.Errorf("from %s is after to %s", from, to)
	}
	return s, nil
}
