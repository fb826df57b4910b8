package lookup

import (
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

// ReadRemembered parses at most most results of personaMemorySearch. Each quote is its own text,
// because its origin is unknown.
func ReadRemembered(js string, most int) (list []Hit) {
	var in lookup.Remembered
	if !lookup.Decode(js, &in) {
		return nil
	}
	for _, r := range in.Sources {
		if r.ID == "" || len(list) == most {
			continue
		}
		quote := strings.TrimSuffix(strings.TrimSpace(r.Memory), "…")
		h := Hit{ID: r.Place, Source: r.Metadata.Source, Quote: quote, End: len(quote), Hash: Sum(quote), Score: Unit(r.Relevance)}
		h.Kind, h.URL, h.Author, h.Published = r.Kind, Address(r.Metadata.Link), textkit.TruncateBytes(textkit.OneLine(r.Metadata.Author), MaxLabel), r.Metadata.Date
		if h.Source == "" || h.URL != "" {
			h.Source = "memory:" + textkit.TruncateBytes(textkit.OneLine(r.ID), MaxLabel)
		}
		if h.URL != "" {
			h.Source = h.URL
		}
		if h.Sound() {
			list = append(list, dated(h))
		}
	}
	return list
}
