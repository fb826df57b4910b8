package similarity

import "math/bits"

// A places is where the terms of a pair stand. Its sets have a bit for each term
// of the first text, so that what changed places is found in a few steps.
type places struct {
	*pair
	inA, inB marks
	before   [maxTerms + 1]uint64 // of each place in b, what has its partner before it
	parts    [maxTerms]roles      // of what has a partner
	verbs    uint64               // what things may have changed places around
	things   uint64               // what may have changed places
	heavy    uint64               // of those, what is no slight number
	doers    uint64               // of those, what may be a subject in both texts
	free     uint64               // of those, what has no role in either
	changed  uint64               // of those, what has another role in each
	shifted  uint64               // what is behind a "by" in one text only, and has no other role
	acting   uint64               // what is behind a "by" in one text, and has another role, but no "with", in the other
	nouns    uint64               // what is a noun, with a partner or without
	placed   bool                 // a strong role changed: on and under, to and from
}

// note takes down where the terms of a pair stand.
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

// term takes down what the term i of the first text and its partner are.
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

// A marks is where sentences and copulas of a text stand, with a bit for each
// term.
type marks struct {
	firsts, copulas uint64
	n               int // how many terms there are
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

// bounds returns where the sentence of the term i begins and ends.
func (m *marks) bounds(i int) (from, end int) {
	from = bits.Len64(m.firsts&below(i+1)) - 1
	return from, min(m.n, bits.TrailingZeros64(m.firsts&^below(i+1)))
}

// reach returns where those terms begin and end that are in the sentence of the
// term i, which may be a verb, and from which no copula divides it. One right
// before the verb divides nothing.
func (m *marks) reach(i int) (from, end int) {
	from, end = m.bounds(i)
	from = max(from, bits.Len64(m.copulas&below(i-1))-1)
	return from, min(end, bits.TrailingZeros64(m.copulas&^below(i+1))+1)
}

// set returns what reach bounds as a set.
func (m *marks) set(i int) uint64 {
	from, end := m.reach(i)
	return below(end) &^ below(from)
}

// sentence returns the terms of the sentence of the term i.
func (m *marks) sentence(i int) uint64 {
	from, end := m.bounds(i)
	return below(end) &^ below(from)
}

// below returns the set of the terms before the one at i.
func below(i int) uint64 {
	if i <= 0 {
		return 0
	}
	return 1<<uint(i) - 1
}
