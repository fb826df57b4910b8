package lookup

import (
	"ponder/internal/textkit"
	"time"

	"ponder"
)

// An Origin is what else is known of a hit, and of all hits of a page.
type Origin struct {
	Kind      string          `json:"kind,omitempty"` // file, memory, document, post, journal, thread, page
	URL       string          `json:"url,omitempty"`
	Page      int             `json:"page,omitempty"`
	Author    string          `json:"author,omitempty"`
	Published time.Time       `json:"published,omitzero"`
	Fetched   time.Time       `json:"fetched,omitzero"`
	Original  string          `json:"original,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Cluster   string          `json:"cluster,omitempty"`
	Voices    int             `json:"voices,omitempty"`
	Quality   []ponder.Signal `json:"quality,omitempty"`
	Untrusted bool            `json:"untrusted,omitempty"`
}

// date makes dates such as can be stored: in UTC, and of a year of four digits.
func (o *Origin) date() {
	for _, t := range []*time.Time{&o.Published, &o.Fetched} {
		if *t = t.UTC().Truncate(time.Second); t.Year() < 1 || t.Year() > 9999 {
			*t = time.Time{}
		}
	}
}

// Day returns the day of a time, or nothing.
func Day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// Signals returns what is known of a source, bounded.
func Signals(list []ponder.Signal) (kept []ponder.Signal) {
	for _, g := range list[:min(len(list), maxSignals)] {
		kept = append(kept, ponder.Signal{Name: textkit.TruncateBytes(textkit.OneLine(g.Name), MaxLabel), Value: unit(g.Value), Says: textkit.TruncateBytes(textkit.OneLine(g.Says), MaxLabel)})
	}
	return kept
}
