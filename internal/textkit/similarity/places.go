package similarity

import "math/bits"

// An alignment describes where the matched terms stand. Its sets have a bit for each term of the
// first text.
type alignment struct {
	*pair
	inA, inB      layout
	before        [maxTerms + 1]uint64 // for each place in b, the terms with a partner before it
	parts         [maxTerms]roleSet    // roles of the matched terms
	verbs         uint64               // terms around which others may exchange places
	things        uint64               // terms that may exchange places
	heavy         uint64               // things that are no light words or numbers
	doers         uint64               // things that may be a subject in both texts
	free          uint64               // heavy terms without a role in either text
	changed       uint64               // heavy terms with different roles
	shifted       uint64               // terms after "by" in one text and without a role in the other
	otherAgents   uint64               // terms after "by" in one text, with another role than "with" in the other
	nouns         uint64               // nouns, matched or not
	strongChanged bool                 // a strong role changed, such as on and under
}

func (o *alignment) fill() {
	p := o.pair
	o.inA.fill(p.a.terms)
	o.inB.fill(p.b.terms)
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
			o.classifyTerm(i, &p.a.terms[i], &p.b.terms[p.to[i]])
		}
	}
}

func (o *alignment) classifyTerm(i int, x, y *term) {
	bit := uint64(1) << i
	o.parts[i] = commonRole(x, y)
	switch {
	case x.is&amount != 0:
	case x.is&structural != 0:
		o.verbs |= bit & o.single
	case x.weight > weightLight:
		o.verbs |= bit
	case x.rest == y.rest && x.rest != noWord:
		o.verbs |= bit & o.single // "gave"
	}
	if x.weight > weightLight || x.is&amount != 0 {
		o.things |= bit
		if o.parts[i]&(1<<0|1<<agent) != 0 {
			o.doers |= bit
		}
	}
	if x.weight > weightLight {
		o.heavy |= bit
		if x.role|y.role == 0 {
			o.free |= bit
		}
	}
	if x.role == y.role {
		return
	}
	if x.weight > weightLight {
		o.changed |= bit
	}
	switch {
	case isShifted(x, y):
		o.shifted |= bit
	case (x.role == agent || y.role == agent) && x.role|y.role != agent|means:
		o.otherAgents |= bit
	}
	o.strongChanged = o.strongChanged || x.role != 0 && y.role != 0 && (x.role|y.role)&strong != 0
}

// A layout has the sentences and copulas of a text, with a bit for each term.
type layout struct {
	firsts, copulas uint64
	n               int // number of terms
}

func (m *layout) fill(terms []term) {
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

func (m *layout) sentenceBounds(i int) (from, end int) {
	from = bits.Len64(m.firsts&bitsBelow(i+1)) - 1
	return from, min(m.n, bits.TrailingZeros64(m.firsts&^bitsBelow(i+1)))
}

// verbScope returns the bounds of the terms around term i, a possible verb: its sentence, cut at
// copulas. A copula immediately before the verb does not cut.
func (m *layout) verbScope(i int) (from, end int) {
	from, end = m.sentenceBounds(i)
	from = max(from, bits.Len64(m.copulas&bitsBelow(i-1))-1)
	return from, min(end, bits.TrailingZeros64(m.copulas&^bitsBelow(i+1))+1)
}

// scopeSet returns the terms within verbScope.
func (m *layout) scopeSet(i int) uint64 {
	from, end := m.verbScope(i)
	return bitsBelow(end) &^ bitsBelow(from)
}

func (m *layout) sentenceSet(i int) uint64 {
	from, end := m.sentenceBounds(i)
	return bitsBelow(end) &^ bitsBelow(from)
}

// bitsBelow returns the set of terms before i.
func bitsBelow(i int) uint64 {
	if i <= 0 {
		return 0
	}
	return 1<<uint(i) - 1
}
