package session

import (
	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

// trace adds where a passage is from to what is kept of it, and to its event.
func (s *state) trace(e *evidence, b *ponder.Evidence, h hit, by ponder.Found) {
	e.Kind, e.URL, e.Untrusted = textkit.TruncateBytes(textkit.OneLine(h.Kind), maxLabel), lookup.Address(h.URL), h.Untrusted
	e.Dated, e.Fetched = lookup.Day(h.Published), lookup.Day(h.Fetched)
	e.Cluster, e.Copy = s.cluster(h)
	if e.Untrusted {
		e.Title, e.Section, e.Quote, e.Context = lookup.Tame(e.Title), lookup.Tame(e.Section), lookup.Tame(e.Quote), lookup.Tame(e.Context)
	}
	by.Query, by.Provider = textkit.TruncateBytes(textkit.OneLine(by.Query), maxFocus), textkit.TruncateBytes(textkit.OneLine(h.Provider), maxLabel)
	b.Title, b.URL, b.Section, b.Page, b.Author = e.Title, e.URL, e.Section, max(0, h.Page), textkit.TruncateBytes(textkit.OneLine(h.Author), maxLabel)
	b.Published, b.Fetched, b.Original, b.Found = h.Published, h.Fetched, textkit.TruncateBytes(textkit.OneLine(h.Original), maxLabel), by
	b.Cluster, b.Voices, b.Quality, b.Untrusted = e.Cluster, max(0, h.Voices), lookup.Signals(h.Quality), e.Untrusted
}
