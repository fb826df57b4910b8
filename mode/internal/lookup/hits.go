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
	"ponder/internal/textkit"
	"slices"
	"strings"
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

// A hit is a passage that a search found.
type Hit struct {
	ID      string   `json:"id,omitempty"`
	Source  string   `json:"source"`
	Title   string   `json:"title"`
	Section string   `json:"section"`
	Quote   string   `json:"quote"`
	Start   int      `json:"start"`
	End     int      `json:"end"`
	Hash    string   `json:"hash"`
	Score   float64  `json:"score"`
	Terms   []string `json:"terms"`  // words of the query that are in it
	Topics  []string `json:"topics"` // what else it is about
	Context string   `json:"context"`

	Origin
}

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

// ReadFound reads the result of a search. What has another form is left out, and
// so are quotes that can't be what stands between their offsets, and what is beyond most.
func ReadFound(js string, most int) (f Found) {
	var raw struct {
		Hits    []json.RawMessage `json:"hits"`
		Skipped []json.RawMessage `json:"skipped"`
		More    json.RawMessage   `json:"skipped_more"`
	}
	if json.Unmarshal([]byte(js), &raw) != nil {
		return f
	}
	for _, js := range raw.Hits {
		var h Hit
		if json.Unmarshal(js, &h) == nil && h.Sound() && len(f.Hits) < most {
			h.date()
			f.Hits = append(f.Hits, h)
		}
	}
	for _, js := range raw.Skipped {
		var file struct{ Path, Reason string }
		if json.Unmarshal(js, &file) == nil && file.Path != "" {
			f.Skipped = append(f.Skipped, textkit.TruncateBytes(textkit.OneLine(file.Path), MaxLabel)+": "+textkit.TruncateBytes(textkit.OneLine(file.Reason), MaxLabel))
		}
	}
	if json.Unmarshal(raw.More, &f.More) != nil {
		f.More = 0
	}
	f.More = max(0, f.More)
	return f
}

// Sound reports whether a hit can be cited.
func (h Hit) Sound() bool {
	return h.Source != "" && strings.TrimSpace(h.Quote) != "" && h.Start >= 0 && h.End-h.Start == len(h.Quote)
}

// Key is what a hit is known by.
func (h Hit) Key() string {
	if h.ID != "" && len(h.ID) <= 80 {
		return h.ID
	}
	return textkit.TruncateBytes(fmt.Sprintf("%s#%d", h.Source, h.Start), 80)
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
