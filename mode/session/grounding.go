package session

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/knowledge/claim"
)

const maxDoubts = 8

const unknownSource = "a citation of an unknown source"

// markUnsupported marks unsupported sentences of an answer and its insights. Their evidence lacks their
// quotation or figure, or they cite only unknown evidence such as [e000000]. The report to the user
// omits source numbers, because reports renumber sources. Sentences whose evidence is no longer
// stored stay unmarked.
func (s *state) markUnsupported(sum summary) summary {
	sum.Text, _ = s.replaceCitations(sum.Text, nil, "["+unknownID+"]")
	for i, insight := range sum.Insights {
		sum.Insights[i], _ = s.replaceCitations(insight, nil, "["+unknownID+"]")
	}
	wording := s.buildQuoteIndex(sum.Text + "\n" + strings.Join(sum.Insights, "\n"))
	var doubts []string
	mark := func(text string) string {
		sentences := claim.Split(text)
		findings, found := make([]claim.Finding, len(sentences)), false
		for i := range sentences {
			c := &sentences[i]
			if !c.Factual {
				continue
			}
			what := unknownSource
			if !s.keepKnownCites(c, text[c.Start:c.End]) {
				what = wording.FindUnsupported(text, c)
			}
			if what != "" {
				findings[i].Verdict, found = claim.Unverified, true
				if !slices.Contains(doubts, what) {
					doubts = append(doubts, what)
				}
			}
		}
		if !found {
			return text
		}
		return claim.Mark(text, sentences, findings)
	}
	sum.Text = mark(sum.Text)
	for i, insight := range sum.Insights {
		sum.Insights[i] = mark(insight)
	}
	if len(doubts) > 0 {
		list := strings.Join(doubts[:min(len(doubts), maxDoubts)], "; ")
		if more := len(doubts) - maxDoubts; more > 0 {
			list += fmt.Sprintf("; and %d more", more)
		}
		s.queueWrite("found", &s.Counts.Found, ponder.SystemNote{Content: "Not in the cited passages: " + list})
	}
	return sum
}

// keepKnownCites keeps the known citations of a sentence and reports whether all its citations are unknown.
// After a word of four letters, a bracket is hardly a code index.
func (s *state) keepKnownCites(c *claim.Sentence, said string) bool {
	var kept []string
	lost := false
	for _, id := range c.Cites {
		if _, ok := s.parseEvidenceID(id); ok {
			kept = append(kept, id)
			continue
		}
		at := strings.Index(said, "["+id)
		lost = lost || id == unknownID || s.Counts.Evidence > 0 && at > 3 && !strings.ContainsAny(said[at-4:at], " .,;:!?()[]") && !strings.Contains(said, "`")
	}
	c.Cites = kept
	return lost && kept == nil
}

// buildQuoteIndex returns the texts of the user and of the evidence that text cites.
func (s *state) buildQuoteIndex(text string) claim.QuoteIndex {
	w := make(claim.QuoteIndex)
	w.Add("", s.run.Input)
	for i := range s.Facts {
		w.Add("", s.Facts[i].Text)
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; strings.Contains(text, e.id()+"]") {
			text := e.fullText() + "\n" + e.sourceLabel()
			if at := s.findEvidence(e.Within); at >= 0 {
				text += "\n" + s.Evidence[at].fullText()
			}
			w.Add(e.id(), text)
		}
	}
	return w
}

// fullText returns the quote and the text around it.
func (e *evidence) fullText() string {
	return strings.TrimSuffix(e.Quote, "…") + e.Rest + "\n" + e.Context
}

// moveTail moves the end of a long quote to Rest, to fit the conclusion.
func (e evidence) moveTail() evidence {
	whole := e.Quote
	if e.Quote = textkit.TruncateBytes(whole, maxKeptText); e.Quote != whole {
		e.Rest = whole[len(strings.TrimSuffix(e.Quote, "…")):]
	}
	return e
}
