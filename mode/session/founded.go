package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ponder"
	"ponder/claim"
)

// maxDoubts is how many things are named that an answer has from no source.
const maxDoubts = 8

// founded returns an answer in which each sentence, also of its insights, is marked as
// unverified that cites evidence for a quotation or a figure which that does not have, or
// cites only what there is not, as [e000000]. It tells the user what those are, without the
// numbers of sources, which a report gives anew. Nothing is marked of which the evidence is
// not at hand any more.
func (s *state) founded(sum summary) summary {
	sum.Text, _ = s.citing(sum.Text, nil, "["+nowhere+"]")
	for i, insight := range sum.Insights {
		sum.Insights[i], _ = s.citing(insight, nil, "["+nowhere+"]")
	}
	wording := s.wording(sum.Text + "\n" + strings.Join(sum.Insights, "\n"))
	var doubts []string
	astray := false
	mark := func(text string) string {
		sentences := claim.Split(text)
		findings, found := make([]claim.Finding, len(sentences)), false
		for i := range sentences {
			c := &sentences[i]
			if !c.Factual {
				continue
			}
			c.Cites = slices.DeleteFunc(c.Cites, func(id string) bool { _, ok := s.piece(id); return !ok })
			lost := len(c.Cites) == 0 && s.astray(text[c.Start:c.End])
			what := wording.Unfounded(text, c)
			if !lost && what == "" {
				continue
			}
			findings[i].Verdict, found, astray = claim.Unverified, true, astray || lost
			if what != "" && !slices.Contains(doubts, what) {
				doubts = append(doubts, what)
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
	if note := s.doubted(doubts, astray); note != "" {
		s.write("found", &s.Counts.Found, ponder.SystemNote{Content: note})
	}
	return sum
}

// doubted says what is in no passage that is cited for it, and whether something cites only
// what there is not; "" if neither is.
func (s *state) doubted(doubts []string, astray bool) string {
	var says []string
	if len(doubts) > 0 {
		list := strings.Join(doubts[:min(len(doubts), maxDoubts)], "; ")
		if more := len(doubts) - maxDoubts; more > 0 {
			list += fmt.Sprintf("; and %d more", more)
		}
		says = append(says, "Not in the passages that are cited for it: "+list)
	}
	switch {
	case astray && len(s.Barred) > 0:
		says = append(says, "A source is cited that was not gathered or is banned")
	case astray:
		says = append(says, "A source is cited that was not gathered")
	}
	return strings.Join(says, ". ")
}

// What may be an index of code, and is hardly one behind a longer word.
var (
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	glued    = regexp.MustCompile(`[\pL\pN]{4}\[([eE]\d{1,6})\]`)
)

// astray reports whether a sentence cites what there is not.
func (s *state) astray(said string) bool {
	if strings.Contains(said, "["+nowhere+"]") {
		return true
	}
	return s.Counts.Evidence > 0 && slices.ContainsFunc(glued.FindAllStringSubmatch(codeSpan.ReplaceAllString(said, " "), -1), func(m []string) bool {
		_, ok := s.piece(m[1])
		return !ok
	})
}

// wording returns what the user said and what the evidence says that a text cites.
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
