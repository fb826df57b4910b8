package lookup

import (
	"ponder/internal/textkit"
	"time"

	"ponder"
)

// normalizeDates returns h with dates in UTC, dropping years that JSON cannot store.
func normalizeDates(h Hit) Hit {
	for _, t := range []*time.Time{&h.Published, &h.Fetched} {
		if *t = t.UTC().Truncate(time.Second); t.Year() < 1 || t.Year() > 9999 {
			*t = time.Time{}
		}
	}
	return h
}

// FormatDay formats the date of t, or returns "".
func FormatDay(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// ClampSignals returns quality signals within limits.
func ClampSignals(list []ponder.Signal) (kept []ponder.Signal) {
	for _, g := range list[:min(len(list), maxSignals)] {
		kept = append(kept, ponder.Signal{Name: textkit.TruncateBytes(textkit.OneLine(g.Name), MaxLabel), Value: ClampUnit(g.Value), Description: textkit.TruncateBytes(textkit.OneLine(g.Description), MaxLabel)})
	}
	return kept
}
