package session

import (
	"time"

	"ponder"
)

// An origin is what else is known of a hit, and of all hits of a page.
type origin struct {
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

// trace adds where a passage is from to what is kept of it, and to its event.
func (s *state) trace(e *evidence, b *ponder.Evidence, h hit, by ponder.Found) {
	e.Kind, e.URL, e.Untrusted = clip(oneLine(h.Kind), maxLabel), address(h.URL), h.Untrusted
	e.Dated, e.Fetched = day(h.Published), day(h.Fetched)
	e.Cluster, e.Copy = s.cluster(h)
	if e.Untrusted {
		e.Title, e.Section, e.Quote, e.Context = tame(e.Title), tame(e.Section), tame(e.Quote), tame(e.Context)
	}
	by.Query, by.Provider = clip(oneLine(by.Query), maxFocus), clip(oneLine(h.Provider), maxLabel)
	b.Title, b.URL, b.Section, b.Page, b.Author = e.Title, e.URL, e.Section, max(0, h.Page), clip(oneLine(h.Author), maxLabel)
	b.Published, b.Fetched, b.Original, b.Found = h.Published, h.Fetched, clip(oneLine(h.Original), maxLabel), by
	b.Cluster, b.Voices, b.Quality, b.Untrusted = e.Cluster, max(0, h.Voices), signals(h.Quality), e.Untrusted
}

// date makes dates such as can be stored: in UTC, and of a year of four digits.
func (o *origin) date() {
	for _, t := range []*time.Time{&o.Published, &o.Fetched} {
		if *t = t.UTC().Truncate(time.Second); t.Year() < 1 || t.Year() > 9999 {
			*t = time.Time{}
		}
	}
}

// day returns the day of a time, or nothing.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// signals returns what is known of a source, bounded.
func signals(list []ponder.Signal) (kept []ponder.Signal) {
	for _, g := range list[:min(len(list), maxSignals)] {
		kept = append(kept, ponder.Signal{Name: clip(oneLine(g.Name), maxLabel), Value: unit(g.Value), Says: clip(oneLine(g.Says), maxLabel)})
	}
	return kept
}
