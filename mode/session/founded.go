package session

import (
	"fmt"
	"strings"

	"ponder"
	"ponder/claim"
)

// maxDoubts is how many things are named that an answer has from no source.
const maxDoubts = 8

// founded returns an answer in which each sentence is marked as unverified that cites
// evidence for a quotation or a figure which that does not have, and tells the user what
// those are, without the numbers of sources, which a report gives anew. Nothing is marked of which the evidence is not at hand any more.
func (s *state) founded(text string) string {
	var doubts []string
	wording := make(claim.Wording)
	wording.Add("", s.run.Input)
	for i := range s.Facts {
		wording.Add("", s.Facts[i].Text)
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; strings.Contains(text, e.id()+"]") {
			wording.Add(e.id(), e.whole()+"\n"+e.where())
		}
	}
	sentences := claim.Split(text)
	findings := make([]claim.Finding, len(sentences))
	for i := range sentences {
		if c := &sentences[i]; c.Factual {
			if what := wording.Unfounded(text, c); what != "" {
				findings[i].Verdict = claim.Unverified
				doubts = append(doubts, what)
			}
		}
	}
	if len(doubts) == 0 {
		return text
	}
	list := strings.Join(doubts[:min(len(doubts), maxDoubts)], "; ")
	if more := len(doubts) - maxDoubts; more > 0 {
		list += fmt.Sprintf("; and %d more", more)
	}
	s.write("found", &s.Counts.Found, ponder.SystemNote{Content: "Not in the passages that are cited for it: " + list})
	return claim.Mark(text, sentences, findings)
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
