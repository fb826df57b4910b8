package lookup

import (
	"ponder/internal/textkit"
	"time"

	"ponder"
)

// dated returns h with dates in UTC, dropping years that JSON cannot store.
func dated(h Hit) Hit {
	for _, t := range []*time.Time{&h.Published, &h.Fetched} {
		if *t = t.UTC().Truncate(time.Second); t.Year() < 1 || t.Year() > 9999 {
			*t = time.Time{}
		}
	}
	return h
}

// Day formats the date of t, or returns "".
func Day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// Signals returns quality signals within limits.
func Signals(list []ponder.Signal) (kept []ponder.Signal) {
	for _, g := range list[:min(len(list), maxSignals)] {
		kept = append(kept, ponder.Signal{Name: textkit.TruncateBytes(textkit.OneLine(g.Name), MaxLabel), Value: Unit(g.Value), Says: textkit.TruncateBytes(textkit.OneLine(g.Says), MaxLabel)})
	}
	return kept
}
