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

const astray = "what is cited from a source that is not there"

// founded marks unsupported sentences of an answer and its insights. Their evidence lacks their
// quotation or figure, or they cite only unknown evidence such as [e000000]. The report to the user
// omits source numbers, because reports renumber sources. Sentences whose evidence is no longer
// stored stay unmarked.
func (s *state) founded(sum summary) summary {
	sum.Text, _ = s.citing(sum.Text, nil, "["+nowhere+"]")
	for i, insight := range sum.Insights {
		sum.Insights[i], _ = s.citing(insight, nil, "["+nowhere+"]")
	}
	wording := s.wording(sum.Text + "\n" + strings.Join(sum.Insights, "\n"))
	var doubts []string
	mark := func(text string) string {
		sentences := claim.Split(text)
		findings, found := make([]claim.Finding, len(sentences)), false
		for i := range sentences {
			c := &sentences[i]
			if !c.Factual {
				continue
			}
			what := astray
			if !s.sift(c, text[c.Start:c.End]) {
				what = wording.Unfounded(text, c)
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
		s.write("found", &s.Counts.Found, ponder.SystemNote{Content: "Not in the passages that are cited for it: " + list})
	}
	return sum
}

// sift keeps the known citations of a sentence and reports whether all its citations are unknown.
// After a word of four letters, a bracket is hardly a code index.
func (s *state) sift(c *claim.Sentence, said string) bool {
	var kept []string
	lost := false
	for _, id := range c.Cites {
		if _, ok := s.piece(id); ok {
			kept = append(kept, id)
			continue
		}
		at := strings.Index(said, "["+id)
		lost = lost || id == nowhere || s.Counts.Evidence > 0 && at > 3 && !strings.ContainsAny(said[at-4:at], " .,;:!?()[]") && !strings.Contains(said, "`")
	}
	c.Cites = kept
	return lost && kept == nil
}

// wording returns the texts of the user and of the evidence that text cites.
func (s *state) wording(text string) claim.Wording {
	w := make(claim.Wording)
	w.Add("", s.run.Input)
	for i := range s.Facts {
		w.Add("", s.Facts[i].Text)
	}
	for i := range s.Evidence {
		if e := &s.Evidence[i]; strings.Contains(text, e.id()+"]") {
			w.Add(e.id(), e.whole()+"\n"+e.where())
		}
	}
	return w
}

func (e *evidence) whole() string {
	if e.Rest == "" {
		return e.Quote + "\n" + e.Context
	}
	return strings.TrimSuffix(e.Quote, "…") + e.Rest
}

// shortened moves the end of a long passage to Rest, to fit the conclusion.
func (e evidence) shortened() evidence {
	whole := e.Quote
	e.Quote = textkit.TruncateBytes(whole, maxKeptText)
	e.Rest = whole[len(strings.TrimSuffix(e.Quote, "…")):] + "\n" + e.Context
	e.Context = ""
	return e
}
