package similarity

import "math/bits"

// An alignment describes where the matched terms stand. Its sets have a bit for each term of the
// first text.
type places struct {
	*pair
	inA, inB marks
	before   [maxTerms + 1]uint64 // for each place in b, the terms with a partner before it
	parts    [maxTerms]roles      // roles of the matched terms
	verbs    uint64               // terms around which others may exchange places
	things   uint64               // terms that may exchange places
	heavy    uint64               // things that are no light words or numbers
	doers    uint64               // things that may be a subject in both texts
	free     uint64               // heavy terms without a role in either text
	changed  uint64               // heavy terms with different roles
	shifted  uint64               // terms after "by" in one text and without a role in the other
	acting   uint64               // terms after "by" in one text, with another role than "with" in the other
	nouns    uint64               // nouns, matched or not
	placed   bool                 // a strong role changed, such as on and under
}

// fill computes the sets.
func (o *places) note() {
	p := o.pair
	o.inA.note(p.a.terms)
	o.inB.note(p.b.terms)
	for j := range p.b.terms {
		o.before[j+1] = o.before[j]
		if p.from[j] >= 0 {
			o.before[j+1] |= 1 << p.from[j]
		}
	}
	for i := range p.a.terms {
		if p.a.terms[i].is&noun != 0 {
			o.nouns |= 1 << i
		}
		if p.to[i] >= 0 {
			o.term(i, &p.a.terms[i], &p.b.terms[p.to[i]])
		}
	}
}

// classify adds term i and its partner to the sets.
func (o *places) term(i int, x, y *term) {
	bit := uint64(1) << i
	o.parts[i] = part(x, y)
	switch {
	case x.is&amount != 0:
	case x.is&special != 0:
		o.verbs |= bit & o.single
	case x.weight > slight:
		o.verbs |= bit
	case x.rest == y.rest && x.rest != bare:
		o.verbs |= bit & o.single // "gave"
	}
	if x.weight > slight || x.is&amount != 0 {
		o.things |= bit
		if o.parts[i]&(1<<0|1<<agent) != 0 {
			o.doers |= bit
		}
	}
	if x.weight > slight {
		o.heavy |= bit
		if x.role|y.role == 0 {
			o.free |= bit
		}
	}
	if x.role == y.role {
		return
	}
	if x.weight > slight {
		o.changed |= bit
	}
	switch {
	case shift(x, y):
		o.shifted |= bit
	case (x.role == agent || y.role == agent) && x.role|y.role != agent|means:
		o.acting |= bit
	}
	o.placed = o.placed || x.role != 0 && y.role != 0 && (x.role|y.role)&strong != 0
}

// A layout has the sentences and copulas of a text, with a bit for each term.
type marks struct {
	firsts, copulas uint64
	n               int // number of terms
}

func (m *marks) note(terms []term) {
	m.n = len(terms)
	for i := range terms {
		if i == 0 || terms[i].place>>8 != terms[i-1].place>>8 {
			m.firsts |= 1 << i
		}
		if terms[i].is&copula != 0 {
			m.copulas |= 1 << i
		}
	}
}

// sentenceBounds returns the bounds of the sentence of term i.
func (m *marks) bounds(i int) (from, end int) {
	from = bits.Len64(m.firsts&below(i+1)) - 1
	return from, min(m.n, bits.TrailingZeros64(m.firsts&^below(i+1)))
}

// verbScope returns the bounds of the terms around term i, a possible verb: its sentence, cut at
// copulas. A copula immediately before the verb does not cut.
func (m *marks) reach(i int) (from, end int) {
	from, end = m.bounds(i)
	from = max(from, bits.Len64(m.copulas&below(i-1))-1)
	return from, min(end, bits.TrailingZeros64(m.copulas&^below(i+1))+1)
}

// scopeSet returns the terms within verbScope.
func (m *marks) set(i int) uint64 {
	from, end := m.reach(i)
	return below(end) &^ below(from)
}

// sentenceSet returns the terms of the sentence of term i.
func (m *marks) sentence(i int) uint64 {
	from, end := m.bounds(i)
	return below(end) &^ below(from)
}

// bitsBelow returns the set of terms before i.
func below(i int) uint64 {
	if i <= 0 {
		return 0
	}
	return 1<<uint(i) - 1
}
