package lookup

import (
	"encoding/json"
	"ponder/internal/textkit"
	"strings"
	"time"
)

// ReadRemembered reads what a persona remembers, the result of the tool
// personaMemorySearch, as far as it can be read: at most most items. The quote of
// each is a text of its own, for where it stands is not known.
func ReadRemembered(js string, most int) (list []Hit) {
	var raw struct{ Sources []json.RawMessage }
	if json.Unmarshal([]byte(js), &raw) != nil {
		return nil
	}
	for _, one := range raw.Sources {
		var r struct {
			ID, Place, Kind, Memory string
			Relevance               float64 `json:"relevanceScore"`
			Metadata                struct {
				Source, Link, Author string
				Date                 time.Time
			}
		}
		if json.Unmarshal(one, &r) != nil || r.ID == "" || len(list) == most {
			continue
		}
		quote := strings.TrimSuffix(strings.TrimSpace(r.Memory), "…")
		h := Hit{ID: r.Place, Source: r.Metadata.Source, Quote: quote, End: len(quote), Hash: Sum(quote), Score: unit(r.Relevance)}
		h.Kind, h.URL, h.Author, h.Published = r.Kind, Address(r.Metadata.Link), textkit.TruncateBytes(textkit.OneLine(r.Metadata.Author), MaxLabel), r.Metadata.Date
		if h.Source == "" || h.URL != "" {
			h.Source = "memory:" + textkit.TruncateBytes(textkit.OneLine(r.ID), MaxLabel)
		}
		if h.URL != "" {
			h.Source = h.URL
		}
		if h.date(); h.Sound() {
			list = append(list, h)
		}
	}
	return list
}
