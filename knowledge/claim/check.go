package claim

import (
	"cmp"
	"slices"
	"strings"
)

// A check is the comparison of a claim with its windows.
type check struct {
	*view
	windows []window
	credit  []float64 // by term: the best credit of all windows
	cover   float64
	missing []string // names in no quote
	lacking int      // number of unsupported figures and dates
	inexact bool     // a figure is rounded
	rough   string   // reason: the source has a near figure
	absent  string   // reason: a figure is unsupported
	rival   string   // reason: the source has another number or date
	turned  string   // reason: a negation is one-sided
	weaker  string   // reason: the source is less certain, or states less
	odd     string   // reason: the source means something else
	swap    string   // reason: the source has another word
	tail    string   // the unsupported part of a clause
	against *unit    // the sentence that states otherwise
	laid    map[*unit]*beside
}

func (v *view) compare(cites []string) *check {
	c := &check{view: v, windows: v.windows(cites)}
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
	c.cover = v.share(c.credit)
	c.checkNames()
	c.checkNots()
	c.checkCues()
	c.checkRoles()
	c.checkWhole()
	c.checkStance()
	return c
}

func (c *check) checkNames() {
	for i, t := range c.terms {
		if !c.names[i] || c.credit[i] >= 0.5 || c.initials(t) {
			continue
		}
		c.missing = append(c.missing, t.fold)
	}
}

// initials reports whether the best quote spells out an acronym of the claim, as
// "World Health Organization" does "WHO".
func (c *check) initials(t term) bool {
	if len(t.fold) < 2 || len(t.fold) > 6 {
		return false
	}
	q := &c.quotes[c.units[c.windows[0].unit].quote]
	for u := q.first; u < q.last; u++ {
		if strings.Contains(heads(c.units[u].terms), t.fold) {
			return true
		}
	}
	return strings.Contains(heads(q.context.terms), t.fold)
}

func heads(terms []term) string {
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
		best := unlike
		var found figure
		for i := range c.windows {
			far := 2
			if _, other := c.rivalFigure(f, &c.windows[i]); other {
				far = 0
			}
			if g, ok := c.findFigure(f, &c.windows[i], far); ok > best {
				found, best = g, ok
			}
		}
		if best < rounded && c.inContext(f) {
			best = equal
		}
		switch {
		case best == equal:
		case best == rounded:
			c.inexact = true
		case best == roughly:
			c.rough = "the source says " + found.text + ", which is near " + f.text
		default:
			c.lacking++
			c.deny(f)
		}
	}
}

func (c *check) deny(f figure) {
	w := &c.windows[0]
	if g, ok := c.rivalFigure(f, w); ok {
		reason := "the source says " + g.text + ", not " + f.text
		if near(f, g) {
			c.rough = reason
		} else if c.rival == "" {
			c.rival, c.against = reason, &c.units[w.unit]
		}
		return
	}
	c.absent = cmp.Or(c.absent, "no quote has the number "+f.text)
}

func (c *check) inContext(f figure) bool {
	s := &c.quotes[c.units[c.windows[0].unit].quote]
	return slices.ContainsFunc(s.context.figures, func(g figure) bool { return f.fits(g) >= rounded && f.alike(g) })
}

func (c *check) checkDays() {
	for _, d := range c.days {
		if c.dated(d) {
			continue
		}
		c.lacking++
		if e, ok := c.rivalDay(d, &c.windows[0]); ok && c.rival == "" {
			c.rival, c.against = "the source says "+e.text+", not "+d.text, &c.units[c.windows[0].unit]
		} else if c.absent == "" {
			c.absent = "no quote has the date " + d.text
		}
	}
}

func (c *check) dated(d day) bool {
	for i := range c.windows {
		w := &c.windows[i]
		if _, ok := c.findDay(d, w, 0); ok {
			return true
		}
		if _, other := c.rivalDay(d, w); other {
			continue
		}
		if _, ok := c.findDay(d, w, 2); ok {
			return true
		}
		if c.pieced(d, w, 2) {
			return true
		}
	}
	return false
}

func (c *check) checkNots() {
	if c.turned != "" {
		return
	}
	if u := c.elliptic(); u != nil {
		if c.nots == 0 {
			c.turned, c.against = "the source says not: "+c.terms[0].fold, u
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
		same, other, u := c.polarity(i)
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
		c.turned, c.against = "the source says it without the negation", at
	case c.nots > 0 && !agree && !c.negated():
		c.turned = "no quote has the negation"
	case c.nots == 0 && source != "":
		c.turned, c.against = "the source says not: "+source, at
	}
}

// polarity reports whether term i occurs in the windows with the negation of the
// claim, and whether with the opposite. Adjacent sentences count only for terms that
// the windows lack.
func (c *check) polarity(i int) (same, other bool, against *unit) {
	for far := 0; far <= 1 && !same && !other; far++ {
		for n := range c.windows {
			c.around(&c.windows[n], far, func(u *unit) bool {
				is, isNot := c.polarityIn(i, u)
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

// polarityIn is polarity in the best clause of one sentence. A word far after a
// negation may be either.
func (c *check) polarityIn(i int, u *unit) (same, other bool) {
	const far = 2
	wants := c.terms[i].not > 0
	b := c.lay(u)
	best := b.best(b.at[i])
	for k, id := range u.ids {
		if !c.resembles(i, id) || len(best) > 0 && !slices.Contains(best, u.terms[k].nth) {
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

func (c *check) negated() bool {
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
	case u.cues.hedge != "" && c.cues.hedge == "" && c.hedged(u):
		c.weaker = "the source is less sure: " + u.cues.hedge
	case c.cues.caused != "" && u.cues.linked != "" && u.cues.caused == "" && c.cues.linked == "":
		c.weaker = "the source says " + u.cues.linked + ", not " + c.cues.caused
	case c.cues.quantity > u.cues.quantity && c.cues.quantity >= most && !c.somewhere(func(x cues) bool { return x.quantity >= c.cues.quantity }):
		c.weaker = "no quote says " + c.cues.quantum
		if u.cues.quantity != unsaid {
			c.weaker = "the source says " + u.cues.quantum + ", not " + c.cues.quantum
		}
	case c.cues.only != "" && !c.somewhere(func(x cues) bool { return x.only != "" }):
		c.weaker = "no quote says " + c.cues.only
	}
}

func (c *check) somewhere(such func(cues) bool) (found bool) {
	for i := range c.windows {
		c.around(&c.windows[i], 1, func(u *unit) bool {
			found = found || such(u.cues)
			return !found
		})
	}
	return found
}

// hedged reports whether the hedge of u shortly precedes supported words.
func (c *check) hedged(u *unit) bool {
	for k, id := range u.ids {
		d := u.terms[k].nth - u.cues.nth
		if d < 0 || d > 6 || u.terms[k].name {
			continue
		}
		for i := range c.likes {
			if c.resembles(i, id) {
				return true
			}
		}
	}
	return false
}
