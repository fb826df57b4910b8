package session

import (
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/claim"
)

// maxDoubts is how many things are named that an answer has from no source.
const maxDoubts = 8

// founded returns an answer in which each sentence is marked as unverified that cites
// evidence for a quotation or a figure which that does not have, and tells the user what
// those are. Nothing is marked of which the evidence is not at hand any more.
func (s *state) founded(text string) string {
	var doubts []string
	sentences := claim.Split(text)
	for i, c := range sentences { // which may have code and other ids of ours in brackets
		sentences[i].Cites = slices.DeleteFunc(c.Cites, func(id string) bool { return !s.evident(id) })
	}
	findings := make([]claim.Finding, len(sentences))
	wording := claim.NewWording(s.wording(sentences))
	for i, c := range sentences {
		if what := wording.Unfounded(text, c); c.Factual && what != "" {
			findings[i].Verdict = claim.Unverified
			doubts = append(doubts, what+" ["+strings.Join(c.Cites, "][")+"]")
		}
	}
	if len(doubts) == 0 {
		return text
	}
	list := strings.Join(doubts[:min(len(doubts), maxDoubts)], "; ")
	s.write("found", &s.Counts.Found, ponder.SystemNote{Content: "Not in the passages that are cited for it: " + list})
	return claim.Mark(text, sentences, findings)
}

// evident reports whether there ever was evidence of an id.
func (s *state) evident(id string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "e"))
	return err == nil && 0 < n && n <= s.Counts.Evidence
}

// wording returns the evidence that sentences cite, as far as a model was shown it, and
// what they may have their figures from beside.
func (s *state) wording(sentences []claim.Sentence) []claim.Quote {
	cited := make(map[string]bool)
	for _, c := range sentences {
		for _, id := range c.Cites {
			cited[id] = true
		}
	}
	own := []string{s.run.Input}
	for _, f := range s.Facts {
		own = append(own, f.Text)
	}
	quotes := []claim.Quote{{Text: strings.Join(own, "\n")}}
	for _, e := range s.Evidence {
		if cited[e.id()] {
			quotes = append(quotes, claim.Quote{ID: e.id(), Text: e.whole(), Context: e.where()})
		}
	}
	return quotes
}

// whole returns the text of a passage with what stands around it.
func (e *evidence) whole() string {
	if e.Rest == "" {
		return e.Quote + "\n" + e.Context
	}
	return strings.TrimSuffix(e.Quote, "…") + e.Rest
}

// shortened returns a passage with a text that is short enough for the conclusion, of which
// the rest is kept aside.
func (e evidence) shortened() evidence {
	whole := e.Quote
	e.Quote = clip(whole, maxKeptText)
	e.Rest = whole[len(strings.TrimSuffix(e.Quote, "…")):] + "\n" + e.Context
	e.Context = ""
	return e
}
