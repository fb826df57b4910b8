package claim

import (
	"slices"

	"ponder/internal/textkit/similarity"
)

// inSynonym is the credit of a word for which the source has another of the same meaning.
const inSynonym = 0.8

// maxSenses is the most words of a sentence that are compared by their meaning.
const maxSenses = 40

// checkSenses looks in the best sentence for other words for those of the claim that are
// missing, and for their opposites.
func (c *check) checkSenses() {
	w := &c.windows[0]
	u := &c.units[w.unit]
	var theirs []similarity.Text
	for _, t := range u.terms[:min(len(u.terms), maxSenses)] {
		theirs = append(theirs, similarity.Of(t.fold))
	}
	for i := range c.terms {
		if w.credit[i] >= 0.5 || c.view.names[i] || i >= maxSenses {
			continue
		}
		c.sense(i, u, theirs)
	}
}

// checkWhole notes that the best sentence is the opposite of the claim. Figures that are
// rounded would look so.
func (c *check) checkWhole() {
	u := &c.units[c.windows[0].unit]
	if c.turned != "" || c.lacking > 0 || c.inexact || c.rough != "" || c.own(u) < mostOf {
		return
	}
	if c.elliptic() != nil {
		return
	}
	mine := similarity.Of(c.text)
	if mine.Compare(similarity.Of(c.quotes[u.quote].Text[u.start:u.end])) != similarity.Opposite {
		return
	}
	if !c.lay(u).partly(func(text string) bool { return mine.Compare(similarity.Of(text)) == similarity.Same }) {
		c.turned, c.against = "the source says the opposite", u
	}
}

// sense looks for another word for a term, or its opposite.
func (c *check) sense(i int, u *unit, theirs []similarity.Text) {
	mine := similarity.Of(c.terms[i].fold)
	for k := range theirs {
		switch mine.Compare(theirs[k]) {
		case similarity.Same:
			c.windows[0].credit[i] = max(c.windows[0].credit[i], inSynonym)
		case similarity.Opposite:
			if c.turned == "" && (c.terms[i].not > 0) == (u.terms[k].not > 0) && !c.has(u.terms[k].stem) {
				c.turned, c.against = "the source says "+u.terms[k].fold+", not "+c.terms[i].fold, u
			}
		}
	}
}

// has reports whether the claim has a word of a stem.
func (c *check) has(stem string) bool {
	return slices.ContainsFunc(c.terms, func(t term) bool { return t.stem == stem })
}

// own returns the share of the claim that a sentence of the quotes has itself.
func (c *check) own(u *unit) float64 {
	s := &c.quotes[u.quote]
	for k := s.first; k < s.last; k++ {
		if &c.units[k] == u {
			return c.share(c.rows[int32(k)])
		}
	}
	return 0
}
