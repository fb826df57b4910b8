package lookup

import (
	"cmp"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

// ReadMemoryText returns the formatted text of a result of personaMemorySearch.
func ReadMemoryText(js string) string {
	var in lookup.PersonaMemory
	lookup.Decode(js, &in)
	return in.Context
}

// ReadMemory parses at most most results of personaMemorySearch. Each quote is its own text,
// because its origin is unknown.
func ReadMemory(js string, limit int) (list []Hit) {
	var in lookup.PersonaMemory
	if !lookup.Decode(js, &in) {
		return nil
	}
	for _, r := range in.Sources {
		if r.ID == "" || len(list) == limit {
			continue
		}
		quote := strings.TrimSuffix(strings.TrimSpace(r.Memory), "…")
		h := Hit{ID: r.Place, Source: r.Metadata.Source, Quote: quote, End: len(quote), Hash: HashText(quote), Score: ClampUnit(r.Relevance)}
		h.Kind, h.URL, h.Author, h.Published = r.Kind, Address(r.Metadata.Link), textkit.TruncateBytes(textkit.OneLine(r.Metadata.Author), MaxLabel), r.Metadata.Date
		if h.Source == "" {
			h.Source = cmp.Or(h.URL, "memory:"+textkit.TruncateBytes(textkit.OneLine(r.ID), MaxLabel))
		}
		if h.Sound() {
			list = append(list, normalizeDates(h))
		}
	}
	return list
}
