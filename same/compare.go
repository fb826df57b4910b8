package same

import "math/bits"

// How much may be left over, fitted on the build half of the labelled pairs.
const (
	leftBoth = 2    // weight that both may have left over: what one says in other words
	leftOne  = 0.20 // share of its weight that one may have left over: what one adds
	turnBoth = 4    // likewise, of texts that are opposite
	turnOne  = 0.34
)

// near reports whether two texts may have enough in common, by a glance. The
// bound is loose: an opposite word, a number or a name is a bit.
func (t Text) near(o Text) bool {
	all := bits.OnesCount64(t.kinds | o.kinds)
	both := bits.OnesCount64(t.kinds & o.kinds)
	return both*2+2 >= all
}

// A pair is two texts and which of their terms belong together.
type pair struct {
	a, b     Text
	to       [maxTerms]int8 // the term of b, -1 if there is none
	from     [maxTerms]int8
	flips    int // pairs of terms with opposite meaning
	prefixed int // of those, the ones with a negative prefix on one side
	negs     int // pairs of which one is negated
	leftA    int // weight of what has no partner
	leftB    int
	numbersA int // numbers without a partner
	numbersB int
	quantsA  int
	quantsB  int
}

func (p *pair) verdict() Verdict {
	p.match()
	p.count()
	swapped, doubt := p.order()
	turns := p.flips
	nots := int(p.a.nots) - int(p.b.nots)
	if p.prefixed == 1 && p.flips == 1 && p.negs == 1 && (nots == 1 || nots == -1) {
		turns, nots, p.negs = 0, 0, 0 // "not consistent" is "inconsistent"
	}
	if nots%2 != 0 {
		turns++
	}
	if p.numbersA > 0 && p.numbersB > 0 {
		turns++
	}
	if swapped {
		turns++
	}
	plain := turns == 0 && nots == 0 && p.negs == 0 && p.numbersA == 0 && p.numbersB == 0 && p.quantsA == 0 && p.quantsB == 0 && !doubt
	switch {
	case plain && p.close(leftBoth, leftOne):
		return Same
	case turns%2 == 1 && p.close(turnBoth, turnOne):
		return Opposite
	}
	return Different
}

// close reports whether little enough is left over.
func (p *pair) close(both int, one float64) bool {
	return min(p.leftA, p.leftB) <= both &&
		float64(p.leftA) <= one*float64(p.a.weight) && float64(p.leftB) <= one*float64(p.b.weight) &&
		p.leftA < int(p.a.weight) && p.leftB < int(p.b.weight)
}

// match finds the partner of each term: first of the same meaning, then of the
// opposite one. Equal terms are partners in their order.
func (p *pair) match() {
	for i := range p.a.terms {
		p.to[i] = -1
	}
	for j := range p.b.terms {
		p.from[j] = -1
	}
	p.join(func(x, y *term) bool { return x.id == y.id && (x.is^y.is)&(opposite|negated) == 0 })
	p.join(func(x, y *term) bool { return x.id == y.id && (x.is^y.is)&opposite == 0 })
	p.join(func(x, y *term) bool { return x.id == y.id })
	p.join(func(x, y *term) bool { return x.rest == y.id || x.id == y.rest })
}

func (p *pair) join(is func(x, y *term) bool) {
	for i := range p.a.terms {
		if p.to[i] >= 0 {
			continue
		}
		for j := range p.b.terms {
			if p.from[j] < 0 && is(&p.a.terms[i], &p.b.terms[j]) {
				p.to[i], p.from[j] = int8(j), int8(i)
				break
			}
		}
	}
}

// count counts what turns the meaning and what is left over.
func (p *pair) count() {
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 {
			left(x, &p.leftA, &p.numbersA, &p.quantsA)
			continue
		}
		y := &p.b.terms[p.to[i]]
		if x.id != y.id {
			p.flips++
			p.prefixed++
		} else if (x.is^y.is)&opposite != 0 {
			p.flips++
		}
		if (x.is^y.is)&negated != 0 {
			p.negs++
		}
	}
	for j := range p.b.terms {
		if p.from[j] < 0 {
			left(&p.b.terms[j], &p.leftB, &p.numbersB, &p.quantsB)
		}
	}
	if p.quantsA == 0 || p.quantsB == 0 {
		p.quantsA, p.quantsB = 0, 0
	}
}

func left(t *term, weight, numbers, quants *int) {
	switch {
	case t.is&amount != 0:
		*numbers++
		return
	case t.is&quantity != 0:
		*quants++
	}
	*weight += int(t.weight)
}

// order reports whether two things have changed places, and whether that is in
// doubt.
func (p *pair) order() (swapped, doubt bool) {
	s, d := p.sides()
	swapped, doubt = s, d
	for i := range p.a.terms {
		if p.to[i] < 0 {
			continue
		}
		s, d := p.around(i)
		swapped, doubt = swapped || s, doubt || d
	}
	if p.a.strict && !swapped {
		doubt = doubt || p.inverted()
	}
	return swapped, doubt
}

// sides compares what is a cause or condition in each.
func (p *pair) sides() (swapped, doubt bool) {
	var both, onlyA, onlyB, hasA, hasB, freeA, freeB int
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 || x.weight <= slight {
			continue
		}
		inA, inB := x.is&cause != 0, p.b.terms[p.to[i]].is&cause != 0
		tally(inA, &hasA, &freeA)
		tally(inB, &hasB, &freeB)
		switch {
		case inA && inB:
			both++
		case inA:
			onlyA++
		case inB:
			onlyB++
		}
	}
	if hasA == 0 || hasB == 0 || freeA == 0 || freeB == 0 {
		return false, false
	}
	swapped = onlyA > 0 && onlyB > 0 && both == 0
	return swapped, !swapped && (both == 0 || onlyA > 0 && onlyB > 0)
}

func tally(in bool, yes, no *int) {
	if in {
		*yes++
	} else {
		*no++
	}
}

// around looks for things that have changed places around the term i of a: one
// that stood before it stands behind it, and one the other way round. Who does
// it stands behind it in one of them if only that is in the passive.
func (p *pair) around(i int) (swapped, doubt bool) {
	v, j := &p.a.terms[i], int(p.to[i])
	w := &p.b.terms[j]
	if v.is&amount != 0 || v.is&special == 0 && v.weight <= slight || v.is&special != 0 && !p.single(v.id) {
		return false, false
	}
	var kept, right, left, clauses int
	for k := range p.a.terms {
		x := &p.a.terms[k]
		if k == i || p.to[k] < 0 || x.weight <= slight && x.is&amount == 0 {
			continue
		}
		y := &p.b.terms[p.to[k]]
		if x.place>>8 != v.place>>8 || y.place>>8 != w.place>>8 {
			continue
		}
		before, then := k < i, int(p.to[k]) < j
		switch {
		case before && !then:
			right++
		case !before && then:
			left++
		default:
			kept++
		}
		if before != then && (x.place != v.place || y.place != w.place) {
			clauses++
		}
	}
	exchanged := left > 0 && right > 0
	if (v.is^w.is)&converse != 0 {
		return false, !exchanged
	}
	if !exchanged {
		return false, false
	}
	if v.is&special != 0 && kept == 0 {
		return false, left+right < 4 // "A is B" and "B is A"
	}
	return clauses == 0, true
}

// single reports whether a term is there once in both texts.
func (p *pair) single(id uint32) bool {
	n, m := 0, 0
	for i := range p.a.terms {
		if p.a.terms[i].id == id {
			n++
		}
	}
	for j := range p.b.terms {
		if p.b.terms[j].id == id {
			m++
		}
	}
	return n == 1 && m == 1
}

// inverted reports whether two things of a clause stand in another order, in a
// language where the verb may follow both and the order is all there is.
func (p *pair) inverted() bool {
	for i := range p.a.terms {
		if p.to[i] < 0 || p.a.terms[i].weight <= slight {
			continue
		}
		for k := i + 1; k < len(p.a.terms); k++ {
			if p.to[k] >= 0 && p.to[k] < p.to[i] && p.a.terms[k].weight > slight && !p.marked() {
				return true
			}
		}
	}
	return false
}

// marked reports whether something says who does what beside the order.
func (p *pair) marked() bool {
	a, b := false, false
	for i := range p.a.terms {
		a = a || p.a.terms[i].is&(cause|converse) != 0
	}
	for j := range p.b.terms {
		b = b || p.b.terms[j].is&(cause|converse) != 0
	}
	return a || b
}
