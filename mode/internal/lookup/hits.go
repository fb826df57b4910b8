// Package lookup reads what the tools find that modes look things up with: passages of
// documents and of the memory, results of a search of the web, and passages of its
// pages, each with what is known of where it is from.
//
// What tools return may be of strangers, or broken: what has another form is left
// out, all is bounded, and what strangers wrote can be tamed (tame.go) and judged
// (worth.go) before anything is made of it.
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

// Bounds on what is kept of a hit, in bytes but for terms.
const (
	MaxLabel   = 300 // of a title, a section or a source
	maxTerms   = 24
	maxSignals = 12
	maxURL     = 2000
	maxSnippet = 600
)

// mostNotRead is how many files that were not read are named.
const mostNotRead = 20

// A Hit is a passage that a search found.
type Hit = lookup.Hit

// Found is the result of a search, as far as it can be read.
type Found struct {
	Hits    []Hit    `json:"hits,omitempty"`
	Skipped []string `json:"skipped,omitempty"` // files that were not read, and why
	More    int      `json:"more,omitempty"`    // how many more were not read
}

// NotRead tells the user which files were not read. It is empty if all were.
func (f Found) NotRead() string {
	if len(f.Skipped) == 0 {
		return ""
	}
	list := f.Skipped[:min(mostNotRead, len(f.Skipped))]
	says := "Not read: " + strings.Join(list, "; ")
	if more := len(f.Skipped) - len(list) + f.More; more > 0 {
		says += fmt.Sprintf("; and %d more", more)
	}
	return says
}

// ReadFound reads the result of a search. It leaves out quotes that cannot be the text
// between their offsets, and hits beyond most.
func ReadFound(js string, most int) (f Found) {
	var in lookup.Found
	if !lookup.Decode(js, &in) {
		return f
	}
	f.Hits = readHits(in.Hits, most)
	for _, file := range in.Skipped {
		if file.Path != "" {
			f.Skipped = append(f.Skipped, textkit.Line(file.Path, MaxLabel)+": "+textkit.Line(file.Reason, MaxLabel))
		}
	}
	f.More = max(0, in.More)
	return f
}

// readHits returns the hits that can be cited, at most most, without fields that modes do
// not use.
func readHits(list []Hit, most int) (hits []Hit) {
	for _, h := range list {
		if h.Sound() && len(hits) < most {
			h.Item, h.Speaker, h.Tags, h.Similar = "", "", nil, 0
			hits = append(hits, dated(h))
		}
	}
	return hits
}

// Terms returns some words in lower case, sorted, each once; nil if there are none.
func Terms(words []string) (list []string) {
	for _, w := range words[:min(len(words), maxTerms)] {
		if w = strings.ToLower(textkit.OneLine(w)); w != "" && len(w) <= 60 {
			list = append(list, w)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Use returns the use of a tool that looks something up.
func Use(key, tool string, args map[string]any) ponder.Action {
	js, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and numbers can be marshalled
	}
	return ponder.Do{Key: key, Tool: tool, Args: js}
}

// SearchArgs returns the arguments of a search in documents and the memory.
func SearchArgs(query string, docs []string, memory bool, limit int, pinned, banned []string) map[string]any {
	args := map[string]any{"query": query, "paths": docs, "limit": limit}
	if memory {
		args["memory"] = true
	}
	return Filter(args, pinned, banned)
}

// Filter adds to arguments the sources that are preferred and those that are not wanted.
func Filter(args map[string]any, pinned, banned []string) map[string]any {
	if len(pinned) > 0 {
		args["prefer"] = pinned
	}
	if len(banned) > 0 {
		args["without"] = banned
	}
	return args
}

// Bounds on queries of the web, in bytes.
const (
	maxQuery    = 400
	longestWord = 40 // of a query; what is longer is a key or a number, and stays here
)

// Outgoing returns a query as the web is asked. Strangers read it, and what they wrote may
// have led to it, so it has nothing that could be an address or a key.
func Outgoing(query string) string {
	words := slices.DeleteFunc(strings.Fields(query), func(w string) bool {
		return len(w) > longestWord || strings.Contains(w, "://") || strings.Contains(w, "@")
	})
	query = strings.Join(words, " ")
	if len(query) > maxQuery {
		query = strings.TrimSuffix(textkit.TruncateBytes(query, maxQuery), "…")
	}
	return query
}

// maxQuote bounds a quote, in bytes.
const maxQuote = 2000

// Bounded returns a hit whose quote is not too long, and ends where the quote does.
func Bounded(h Hit) Hit {
	if quote := textkit.Prefix(h.Quote, maxQuote); len(quote) < len(h.Quote) {
		h.Quote, h.End = quote, h.Start+len(quote)
	}
	return h
}
