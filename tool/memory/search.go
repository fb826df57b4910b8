package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
)

// Limits on a search. Those of the query and of the results are the seed's.
const (
	minQuery       = 3 // characters
	maxQuery       = 1000
	defaultResults = 10
	maxResults     = 40
	maxContext     = 32 << 10 // bytes
	maxLabel       = 300      // bytes
	maxTags        = 8
)

var searchSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "query": {"type": "string", "minLength": 3, "maxLength": 1000, "description": "What to remember, in the words it was said in."},
    "maxResults": {"type": "integer", "minimum": 1, "maximum": 40, "description": "The most memories and posts; 10 if left out."}
  },
  "required": ["query"],
  "additionalProperties": false
}`)

type searchInput struct {
	Query      string `json:"query"`
	MaxResults int    `json:"maxResults"`
}

func (o Options) searchMemory(ctx context.Context, in searchInput) (string, error) {
	in.Query = strings.TrimSpace(in.Query)
	switch n := utf8.RuneCountInString(in.Query); {
	case n < minQuery:
		return "", errors.New(SearchName + ": query is shorter than 3 characters: say what to remember")
	case n > maxQuery:
		return "", errors.New(SearchName + ": query is longer than 1000 characters: ask with a few words")
	}
	if in.MaxResults <= 0 {
		in.MaxResults = defaultResults
	}
	text, hits, err := o.Context(ctx, o.Persona, in.Query, min(in.MaxResults, maxResults))
	if err != nil {
		return "", fmt.Errorf("%s: %w", SearchName, err)
	}
	r := lookup.PersonaMemory{Context: textkit.TruncateBytes(text, maxContext), Truncated: len(text) > maxContext, Sources: recalledItems(hits, in.MaxResults)}
	if len(r.Sources) == 0 {
		r.Says = "Nothing is remembered of this: ask with other words, or say that it is not known."
	}
	return textkit.JSON(r)
}

// recalledItems returns the found items, each once, with its best hit.
func recalledItems(hits []recall.Hit, limit int) []lookup.RecalledItem {
	list := []lookup.RecalledItem{}
	seen := make(map[string]bool)
	for _, h := range hits {
		it := h.Item
		if seen[it.ID] || len(list) == min(limit, maxResults) {
			continue
		}
		seen[it.ID] = true
		date := it.Date
		if date.IsZero() {
			date = h.Date
		}
		list = append(list, lookup.RecalledItem{
			ID: it.ID, Place: h.ID, Kind: string(it.Kind), Memory: textkit.VisibleLine(h.Quote, maxLabel), Relevance: float64(int(min(1, max(0, h.Score))*1000)) / 1000,
			Metadata: lookup.Metadata{
				Source: textkit.VisibleLine(it.Source, maxLabel), ExternalID: textkit.VisibleLine(it.ExternalID, maxLabel), Link: textkit.VisibleLine(it.Link, maxLabel), Author: textkit.VisibleLine(it.Author, maxLabel),
				Date: storedTime(date), Tags: it.Tags[:min(len(it.Tags), maxTags)],
			},
		})
	}
	return list
}
