package recall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/knowledge/recall/query"
)

// What makes a search sure of what it found.
const (
	wordsShare  = 0.55 // how much of what was asked for the best hits have
	scoreShare  = 0.45 // how relevant the best is
	correctedBy = 0.85 // what is left if a word was taken for another
	outsideBy   = 0.7  // if nothing is of the time that was asked for
	fewBy       = 0.85 // if an overview has less than three items
)

// sure says how sure the search is of its hits, and why.
func (s *search) sure() {
	r := &s.result
	if len(r.Hits) == 0 {
		r.Says = s.says("Nothing was found.")
		return
	}
	has, all := s.covered()
	share := 1.0
	if all > 0 {
		share = float64(has) / float64(all)
	}
	c := scoreShare*min(1, s.best) + wordsShare*share
	if r.Hybrid && share < 1 { // meaning stands in for words
		c = max(c, min(1, s.best)*(0.7+0.3*max(0, s.agreement)))
	}
	if s.lists() {
		c = 0.6
	}
	var parts []string
	switch {
	case s.lists():
		parts = append(parts, fmt.Sprintf("%s, the newest first", counted(len(r.Hits), "hit")))
	case all > 0:
		parts = append(parts, fmt.Sprintf("the best hits have %d of %s", has, counted(all, "word")))
	}
	if len(r.Corrected) > 0 {
		c *= correctedBy
		for _, w := range slices.Sorted(maps.Keys(r.Corrected)) {
			parts = append(parts, fmt.Sprintf("%q was taken for %q", w, r.Corrected[w]))
		}
	}
	if s.outside() {
		c *= outsideBy
	}
	if s.query.Class == query.Overview && s.items() < 3 {
		c *= fewBy
		parts = append(parts, "only "+counted(s.items(), "item")+" on it")
	}
	if s.agreement >= 0 {
		parts = append(parts, fmt.Sprintf("words and meaning agree on %d of the best 10", int(s.agreement*compared+0.5)))
	}
	r.Confidence = min(1, max(0, c))
	r.Says = s.says(strings.TrimSuffix(level(r.Confidence)+": "+strings.Join(parts, "; "), ": ") + ".")
}

// level says how sure, in words.
func level(c float64) string {
	switch {
	case c >= 0.75:
		return "Sure"
	case c >= 0.5:
		return "Fairly sure"
	case c >= 0.3:
		return "Not sure"
	}
	return "Probably not what is asked for"
}

// says puts a sentence before the notes, and the class before both.
func (s *search) says(sentence string) string {
	parts := []string{sentence}
	if s.query.Why != "" {
		parts = append(parts, strings.TrimSuffix(s.query.Why, ".")+".")
	}
	return strings.Join(append(parts, s.notes...), " ")
}

// lists reports whether a query names nothing to look for, but a time or other
// properties, so that hits are a list of what has them.
func (s *search) lists() bool { return !s.asks(!s.query.Time.IsZero()) }

// covered returns how many of the words of the query the best hits have together.
// A word of a script without spaces is there if most of its parts are.
func (s *search) covered() (has, all int) {
	found := map[string]bool{}
	for _, h := range s.result.Hits[:min(len(s.result.Hits), 3)] {
		for _, w := range h.Terms {
			found[lexical.Fold(w)] = true
		}
	}
	for _, w := range s.query.Words {
		if w.Not || w.Time && !s.query.Time.IsZero() {
			continue
		}
		parts, there := 0, 0
		lexical.Tokens(w.Text, func(t lexical.Token) {
			parts++
			if found[lexical.Fold(w.Text[t.Start:t.End])] {
				there++
			}
		})
		all++
		if there*2 > parts || found[lexical.Fold(w.Text)] {
			has++
		}
	}
	return has, all
}

// outside reports whether the best hit is not of the time that was asked for.
func (s *search) outside() bool {
	return !s.query.Time.IsZero() && !s.query.Time.Holds(s.result.Hits[0].Date)
}

// items returns of how many items the hits are.
func (s *search) items() int {
	seen := map[string]bool{}
	for _, h := range s.result.Hits {
		seen[h.Item.ID] = true
	}
	return len(seen)
}

// counted returns a number and what it is of.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
