// Package lookup parses results of look-up tools for modes: passages of documents and memory, web
// search results and web passages, with their origin.
//
// Tool results are untrusted and may be malformed. The package drops invalid parts and bounds the
// rest; tame.go sanitizes and worth.go weighs it.
package lookup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

// Limits of a hit, in bytes, except for terms.
const (
	MaxLabel   = 300 // of a title, section or source
	maxTerms   = 24
	maxSignals = 12
	maxURL     = 2000
	maxSnippet = 600
)

const maxSkippedShown = 20

// Hit is a passage found by a search.
type Hit = lookup.Hit

// SearchResult is the readable part of a search result.
type SearchResult struct {
	Hits    []Hit    `json:"hits,omitempty"`
	Skipped []string `json:"skipped,omitempty"` // unread files with reasons
	More    int      `json:"more,omitempty"`
}

// DescribeSkipped describes the unread files, or returns "".
func (f SearchResult) DescribeSkipped() string {
	if len(f.Skipped) == 0 {
		return ""
	}
	list := f.Skipped[:min(maxSkippedShown, len(f.Skipped))]
	says := "Not read: " + strings.Join(list, "; ")
	if more := len(f.Skipped) - len(list) + f.More; more > 0 {
		says += fmt.Sprintf("; and %d more", more)
	}
	return says
}

// ReadSearchResult parses a search result. It drops quotes that do not match their offsets, and hits
// beyond most.
func ReadSearchResult(js string, limit int) (f SearchResult) {
	var in lookup.Found
	if !lookup.Decode(js, &in) {
		return f
	}
	f.Hits = readHits(in.Hits, limit)
	for _, file := range in.Skipped {
		if file.Path != "" {
			f.Skipped = append(f.Skipped, textkit.Line(file.Path, MaxLabel)+": "+textkit.Line(file.Reason, MaxLabel))
		}
	}
	f.More = max(0, in.More)
	return f
}

func readHits(list []Hit, limit int) (hits []Hit) {
	for _, h := range list {
		if h.Sound() && len(hits) < limit {
			h.Item, h.Speaker, h.Tags, h.Similar = "", "", nil, 0
			hits = append(hits, normalizeDates(h))
		}
	}
	return hits
}

// NormalizeTerms returns words in lower case, sorted and distinct, or nil.
func NormalizeTerms(words []string) (list []string) {
	for _, w := range words[:min(len(words), maxTerms)] {
		if w = strings.ToLower(textkit.OneLine(w)); w != "" && len(w) <= 60 {
			list = append(list, w)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// NewToolUse returns the use of a look-up tool.
func NewToolUse(key, tool string, args map[string]any) ponder.Action {
	js, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return ponder.Do{Key: key, Tool: tool, Args: js}
}

// SearchArgs returns the arguments of a search in documents and memory.
func SearchArgs(query string, docs []string, memory bool, limit int, pinned, banned []string) map[string]any {
	args := map[string]any{"query": query, "paths": docs, "limit": limit}
	if memory {
		args["memory"] = true
	}
	return AddSourceFilter(args, pinned, banned)
}

// AddSourceFilter adds preferred and excluded sources to arguments.
func AddSourceFilter(args map[string]any, pinned, banned []string) map[string]any {
	if len(pinned) > 0 {
		args["prefer"] = pinned
	}
	if len(banned) > 0 {
		args["without"] = banned
	}
	return args
}

const maxQuote = 2000

// TruncateQuote truncates a long quote and adjusts its end.
func TruncateQuote(h Hit) Hit {
	if quote := textkit.Prefix(h.Quote, maxQuote); len(quote) < len(h.Quote) {
		h.Quote, h.End = quote, h.Start+len(quote)
	}
	return h
}
