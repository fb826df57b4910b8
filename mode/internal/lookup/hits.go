// Package lookup reads what the tools find that modes look things up with: passages of
// documents and of the memory, results of a search of the web, and passages of its
// pages, each with what is known of where it is from.
//
// What tools return may be of strangers, or broken: what has another form is left
// out, all is bounded, and what strangers wrote can be tamed (tame.go) and judged
// (worth.go) before anything is made of it.
package lookup

import (
	"fmt"
	"slices"
	"strings"

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
