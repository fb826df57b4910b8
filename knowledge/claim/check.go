package claim

import (
	"cmp"
	"slices"
	"strings"
)

// A check is the comparison of a claim with its windows.
type check struct {
	*view
	windows         []window
	credit          []float64 // by term: the best credit of all windows
	cover           float64
	missingNames    []string // names in no quote
	lackingCount    int      // number of unsupported figures and dates
	inexact         bool     // a figure is rounded
	roughReason     string   // reason: the source has a near figure
	absentReason    string   // reason: a figure is unsupported
	conflictReason  string   // reason: the source has another number or date
	negationReason  string   // reason: a negation is one-sided
	weakerReason    string   // reason: the source is less certain, or states less
	stanceReason    string   // reason: the source means something else
	swapReason      string   // reason: the source has another word
	unsupportedTail string   // the unsupported part of a clause
	counterUnit     *unit    // the sentence that states otherwise
	alignments      map[*unit]*wordAlignment
}

func (v *view) runChecks(cites []string) *check {
	c := &check{view: v, windows: v.findWindows(cites)}
	if len(c.windows) == 0 {
		return c
	}
	c.checkFigures()
	c.checkDays()
	c.checkSenses()
	c.credit = make([]float64, len(v.terms))
	for n, w := range c.windows {
		left := 1.0
		if n > 0 {
			left = 0.9
		}
		for i, x := range w.credit {
			if n == 0 || x >= 0.5 {
				c.credit[i] = max(c.credit[i], left*x)
			}
		}
	}
	c.cover = v.weightedShare(c.credit)
	c.checkNames()
	c.checkNegations()
	c.checkCues()
	c.checkRoles()
	c.checkWhole()
	c.checkStance()
	return c
}

func (c *check) checkNames() {
	for i, t := range c.terms {
		if !c.names[i] || c.credit[i] >= 0.5 || c.spellsAcronym(t) {
			continue
		}
		c.missingNames = append(c.missingNames, t.fold)
	}
}

// spellsAcronym reports whether the best quote spells out an acronym of the claim, as
// "World Health Organization" does "WHO".
func (c *check) spellsAcronym(t term) bool {
	if len(t.fold) < 2 || len(t.fold) > 6 {
		return false
	}
	q := &c.quotes[c.units[c.windows[0].unit].quote]
	for u := q.first; u < q.last; u++ {
		if strings.Contains(initialLetters(c.units[u].terms), t.fold) {
			return true
		}
	}
	return strings.Contains(initialLetters(q.context.terms), t.fold)
}

func initialLetters(terms []term) string {
	var b strings.Builder
	for _, t := range terms {
		if t.name || t.head {
			b.WriteByte(t.fold[0])
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

func (c *check) checkFigures() {
	for _, f := range c.view.figures {
		best := noFit
		var found figure
		for i := range c.windows {
			far := 2
			if _, other := c.competingFigure(f, &c.windows[i]); other {
				far = 0
			}
			if g, ok := c.findFigure(f, &c.windows[i], far); ok > best {
				found, best = g, ok
			}
		}
		if best < roundedFit && c.hasContextFigure(f) {
			best = equalFit
		}
		switch {
		case best == equalFit:
		case best == roundedFit:
			c.inexact = true
		case best == nearFit:
			c.roughReason = "the source says " + found.text + ", which is near " + f.text
		default:
			c.lackingCount++
			c.denyFigure(f)
		}
	}
}

func (c *check) denyFigure(f figure) {
	w := &c.windows[0]
	if g, ok := c.competingFigure(f, w); ok {
		reason := "the source says " + g.text + ", not " + f.text
		if isNear(f, g) {
			c.roughReason = reason
		} else if c.conflictReason == "" {
			c.conflictReason, c.counterUnit = reason, &c.units[w.unit]
		}
		return
	}
	c.absentReason = cmp.Or(c.absentReason, "no quote has the number "+f.text)
}

func (c *check) hasContextFigure(f figure) bool {
	s := &c.quotes[c.units[c.windows[0].unit].quote]
	return slices.ContainsFunc(s.context.figures, func(g figure) bool { return f.compareWith(g) >= roundedFit && f.mayShareSubject(g) })
}

func (c *check) checkDays() {
	for _, d := range c.days {
		if c.isDateSupported(d) {
			continue
		}
		c.lackingCount++
		if e, ok := c.competingDay(d, &c.windows[0]); ok && c.conflictReason == "" {
			c.conflictReason, c.counterUnit = "the source says "+e.text+", not "+d.text, &c.units[c.windows[0].unit]
		} else if c.absentReason == "" {
			c.absentReason = "no quote has the date " + d.text
		}
	}
}

func (c *check) isDateSupported(d day) bool {
	for i := range c.windows {
		w := &c.windows[i]
		if _, ok := c.findDay(d, w, 0); ok {
			return true
		}
		if _, other := c.competingDay(d, w); other {
			continue
		}
		if _, ok := c.findDay(d, w, 2); ok {
			return true
		}
		if c.hasDateParts(d, w, 2) {
			return true
		}
	}
	return false
}

func (c *check) checkNegations() {
	if c.negationReason != "" {
		return
	}
	if u := c.findEllipticUnit(); u != nil {
		if c.nots == 0 {
			c.negationReason, c.counterUnit = "the source denies it: "+c.terms[0].fold, u
		}
		return
	}
	agree, only, source := false, "", ""
	var at *unit
	for i := range c.terms {
		t := &c.terms[i]
		if c.view.names[i] || c.credit[i] < 0.5 {
			continue
		}
		same, other, u := c.termPolarity(i)
		switch {
		case same && t.not > 0:
			agree = true
		case same || !other:
		case t.not > 0 && only == "":
			only, at = t.fold, u
		case t.not == 0 && source == "":
			source, at = t.fold, u
		}
	}
	switch {
	case c.nots > 0 && !agree && only != "":
		c.negationReason, c.counterUnit = "the source says it without the negation", at
	case c.nots > 0 && !agree && !c.hasNegation():
		c.negationReason = "no quote has the negation"
	case c.nots == 0 && source != "":
		c.negationReason, c.counterUnit = "the source denies it: "+source, at
	}
}

// termPolarity reports whether term i occurs in the windows with the negation of the
// claim, and whether with the opposite. Adjacent sentences count only for terms that
// the windows lack.
func (c *check) termPolarity(i int) (same, other bool, against *unit) {
	for far := 0; far <= 1 && !same && !other; far++ {
		for n := range c.windows {
			c.eachNearbyUnit(&c.windows[n], far, func(u *unit) bool {
				is, isNot := c.unitPolarity(i, u)
				same, other = same || is, other || isNot
				if isNot && against == nil {
					against = u
				}
				return true
			})
		}
	}
	return same, other, against
}

// unitPolarity is polarity in the best clause of one sentence. A word far after a
// negation may be either.
func (c *check) unitPolarity(i int, u *unit) (same, other bool) {
	const far = 2
	wants := c.terms[i].not > 0
	b := c.alignUnit(u)
	best := b.bestPlaces(b.termPlaces[i])
	for k, id := range u.ids {
		if !c.supportsTerm(i, id) || len(best) > 0 && !slices.Contains(best, u.terms[k].nth) {
			continue
		}
		not := u.terms[k].not
		switch {
		case (not > 0) == wants, not > far:
			same = true
		default:
			other = true
		}
	}
	return same, other
}

func (c *check) hasNegation() bool {
	for i := range c.windows {
		if c.units[c.windows[i].unit].nots > 0 {
			return true
		}
	}
	return false
}

// checkCues notes where the best sentence is less certain than the claim, or states
// less.
func (c *check) checkCues() {
	u := &c.units[c.windows[0].unit]
	switch {
	case u.cues.hedge != "" && c.cues.hedge == "" && c.isHedged(u):
		c.weakerReason = "the source is less sure: " + u.cues.hedge
	case c.cues.caused != "" && u.cues.linked != "" && u.cues.caused == "" && c.cues.linked == "":
		c.weakerReason = "the source says " + u.cues.linked + ", not " + c.cues.caused
	case c.cues.quantity > u.cues.quantity && c.cues.quantity >= quantityMost && !c.hasNearbyCues(func(x cues) bool { return x.quantity >= c.cues.quantity }):
		c.weakerReason = "no quote says " + c.cues.quantityWord
		if u.cues.quantity != quantityNone {
			c.weakerReason = "the source says " + u.cues.quantityWord + ", not " + c.cues.quantityWord
		}
	case c.cues.only != "" && !c.hasNearbyCues(func(x cues) bool { return x.only != "" }):
		c.weakerReason = "no quote says " + c.cues.only
	}
}

func (c *check) hasNearbyCues(such func(cues) bool) (found bool) {
	for i := range c.windows {
		c.eachNearbyUnit(&c.windows[i], 1, func(u *unit) bool {
			found = found || such(u.cues)
			return !found
		})
	}
	return found
}

// isHedged reports whether the hedge of u shortly precedes supported words.
func (c *check) isHedged(u *unit) bool {
	for k, id := range u.ids {
		d := u.terms[k].nth - u.cues.nth
		if d < 0 || d > 6 || u.terms[k].name {
			continue
		}
		for i := range c.stemMatches {
			if c.supportsTerm(i, id) {
				return true
			}
		}
	}
	return false
}
