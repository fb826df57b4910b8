package recall

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
	"ponder/knowledge/recall/query"
)

// Parts of the confidence.
const (
	wordsShare        = 0.55 // weight of the query's words in the best hits
	scoreShare        = 0.45 // weight of the best relevance
	correctedFactor   = 0.85 // factor for corrected words
	outsideTimeFactor = 0.7  // factor if the best hit is outside the time
	fewItemsFactor    = 0.85 // factor for an overview of fewer than three items
)

// setConfidence sets the confidence and its reason.
func (s *search) setConfidence() {
	r := &s.result
	if len(r.Hits) == 0 {
		r.Reason = s.explainResult("Nothing found.")
		return
	}
	has, all := s.countCovered()
	share := 1.0
	if all > 0 {
		share = float64(has) / float64(all)
	}
	c := scoreShare*min(1, s.best) + wordsShare*share
	if r.Hybrid && share < 1 {
		c = max(c, min(1, s.best)*(0.7+0.3*max(0, s.agreement)))
	}
	if s.isListing() {
		c = 0.6
	}
	var parts []string
	switch {
	case s.isListing():
		parts = append(parts, fmt.Sprintf("%s, newest first", pluralize(len(r.Hits), "hit")))
	case all > 0:
		parts = append(parts, fmt.Sprintf("the best hits match %d of %s", has, pluralize(all, "word")))
	}
	if len(r.Corrected) > 0 {
		c *= correctedFactor
		for _, w := range slices.Sorted(maps.Keys(r.Corrected)) {
			parts = append(parts, fmt.Sprintf("%q was read as %q", w, r.Corrected[w]))
		}
	}
	if s.isOutsideTime() {
		c *= outsideTimeFactor
	}
	if s.query.Class == query.Overview && s.countItems() < 3 {
		c *= fewItemsFactor
		parts = append(parts, "only "+pluralize(s.countItems(), "item")+" about it")
	}
	if s.agreement >= 0 {
		parts = append(parts, fmt.Sprintf("words and meaning agree on %d of the best 10", int(s.agreement*agreementDepth+0.5)))
	}
	r.Confidence = min(1, max(0, c))
	r.Reason = s.explainResult(strings.TrimSuffix(confidenceLabel(r.Confidence)+": "+strings.Join(parts, "; "), ": ") + ".")
}

func confidenceLabel(c float64) string {
	switch {
	case c >= 0.75:
		return "Sure"
	case c >= 0.5:
		return "Fairly sure"
	case c >= 0.3:
		return "Not sure"
	}
	return "Probably not a match"
}

// explainResult joins a sentence, the reason for the class, and the notes.
func (s *search) explainResult(sentence string) string {
	parts := []string{sentence}
	if s.query.Why != "" {
		parts = append(parts, strings.TrimSuffix(s.query.Why, ".")+".")
	}
	return strings.Join(append(parts, s.notes...), " ")
}

// isListing reports whether the query only filters, so that hits are a list.
func (s *search) isListing() bool { return !s.hasWords(!s.query.Time.IsZero()) }

// countCovered counts the query's words in the best hits. A word of a script without spaces
// counts if most of its parts do.
func (s *search) countCovered() (has, all int) {
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

func (s *search) isOutsideTime() bool {
	return !s.query.Time.IsZero() && !s.query.Time.Contains(s.result.Hits[0].Date)
}

func (s *search) countItems() int {
	seen := map[string]bool{}
	for _, h := range s.result.Hits {
		seen[h.Item.ID] = true
	}
	return len(seen)
}

func pluralize(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
