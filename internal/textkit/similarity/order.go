package similarity

import "math/bits"

// A roleSet is a set of roles as bits; roleChanged marks a term whose role differs between the
// texts.
type roleSet uint64

const roleChanged = roleSet(1) << 63

// compareOrder reports whether two terms exchanged places, and whether that is in doubt.
func (p *pair) compareOrder() (swapped, doubt bool) {
	if p.flips == 1 && p.isReversedComparison() {
		p.flips = 0 // "A is more than B" is "B is less than A"
		return false, false
	}
	swapped, doubt = p.compareCauses()
	o := alignment{pair: p}
	o.fill()
	doubt = doubt || o.strongChanged
	for set := o.verbs; set != 0 && !(swapped && doubt); set &= set - 1 {
		s, d := o.compareAround(bits.TrailingZeros64(set))
		swapped, doubt = swapped || s, doubt || d
	}
	if swapped && doubt {
		return true, true
	}
	s, d := o.comparePassive()
	swapped, doubt = swapped || s, doubt || d || o.isSourceSwapped()
	if p.a.finalVerb && !swapped && !doubt {
		doubt = o.isOrderInverted()
	}
	return swapped || o.areRolesTraded(), doubt
}

func (p *pair) compareCauses() (swapped, doubt bool) {
	var both, onlyA, onlyB, hasA, hasB, freeA, freeB int
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 || x.weight <= weightLight {
			continue
		}
		inA, inB := x.is&cause != 0, p.b.terms[p.to[i]].is&cause != 0
		countSide(inA, &hasA, &freeA)
		countSide(inB, &hasB, &freeB)
		switch {
		case inA && inB:
			both++
		case inA:
			onlyA++
		case inB:
			onlyB++
		}
	}
	switch {
	case freeA == 0 || freeB == 0 || hasA+hasB == 0:
		return false, false
	case hasA == 0:
		return false, p.isLeadNotCause(p.a.terms, &p.to, p.b.terms)
	case hasB == 0:
		return false, p.isLeadNotCause(p.b.terms, &p.from, p.a.terms)
	}
	swapped = onlyA > 0 && onlyB > 0 && both == 0
	return swapped, !swapped && (both == 0 || onlyA > 0 && onlyB > 0)
}

// isLeadNotCause reports whether the first term of a text with "makes" is no cause in the other: "A
// makes B grow", "A grows because of B".
func (p *pair) isLeadNotCause(list []term, to *[maxTerms]int8, other []term) bool {
	lead := -1
	for i := range list {
		switch {
		case list[i].rest == makesID:
			return lead >= 0 && other[to[lead]].is&cause == 0
		case lead < 0 && to[i] >= 0 && list[i].weight > weightLight && list[i].role == 0:
			lead = i
		}
	}
	return false
}

// makesID is the rest of the English word "make".
var makesID = hash("~make")

func countSide(in bool, yes, no *int) {
	if in {
		*yes++
	} else {
		*no++
	}
}

// compareAround looks for a term that moved from left to right of term i of a while another moved
// from right to left. If only one of the verbs is converse, the exchange is expected.
func (o *alignment) compareAround(i int) (swapped, doubt bool) {
	j := int(o.to[i])
	v, w := &o.a.terms[i], &o.b.terms[j]
	from, end := o.inB.verbScope(j)
	near := o.things & o.inA.scopeSet(i) & (o.before[end] &^ o.before[from]) &^ (1 << i)
	moved := near & (bitsBelow(i) ^ o.before[j])
	kept := near&^moved&o.doers != 0
	turned := (v.is^w.is)&converse != 0
	if moved == 0 {
		return turned && kept, turned && kept
	}
	left, right := o.collectRoles(moved&^bitsBelow(i)), o.collectRoles(moved&bitsBelow(i)) // of the terms that moved to the left, and to the right
	sure := left&right&^roleChanged != 0
	exchanged := sure || left != 0 && right != 0 && (left|right)&roleChanged != 0
	switch {
	case turned:
		return false, !exchanged && kept
	case !exchanged || o.shifted&o.inA.sentenceSet(i) != 0 || !sure && isPassive(o.a.terms, i) != isPassive(o.b.terms, j):
		return false, false
	case v.is&structural != 0 && !kept:
		return false, bits.OnesCount64(moved) < 4 // "A is B" and "B is A"
	}
	return sure && o.inOneClause(i, moved), true
}

func (o *alignment) collectRoles(set uint64) (all roleSet) {
	for ; set != 0; set &= set - 1 {
		all |= o.parts[bits.TrailingZeros64(set)]
	}
	return all
}

// inOneClause reports whether the terms of set share the clause of term i in both texts.
func (o *alignment) inOneClause(i int, set uint64) bool {
	for ; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		if o.a.terms[k].place != o.a.terms[i].place || o.b.terms[o.to[k]].place != o.b.terms[o.to[i]].place {
			return false
		}
	}
	return true
}

// isReversedComparison reports whether the only antonym compares terms that exchanged places.
func (p *pair) isReversedComparison() bool {
	var compares, flipped *term
	var left, right, kept int
	for i := range p.a.terms {
		x := &p.a.terms[i]
		switch {
		case p.to[i] < 0:
		case x.is&comparison != 0:
			compares = x
			for k := range p.a.terms {
				if k == i || p.to[k] < 0 || p.a.terms[k].weight <= weightLight || (p.a.terms[k].is^p.b.terms[p.to[k]].is)&opposite != 0 {
					continue
				}
				switch before, then := k < i, p.to[k] < p.to[i]; {
				case before && !then:
					right++
				case !before && then:
					left++
				case !before:
					kept++
				}
			}
		case (x.is^p.b.terms[p.to[i]].is)&opposite != 0:
			flipped = x
		}
	}
	return compares != nil && flipped != nil && left > 0 && right > 0 && kept == 0
}

// commonRole returns the role that a term has in both texts.
func commonRole(x, y *term) roleSet {
	if x.role != y.role {
		return roleChanged
	}
	if x.role <= counted {
		return 1 << x.role
	}
	return 1 << (4 + x.role%58)
}

// areRolesTraded reports whether two terms exchanged their roles: "from A to B", "from B to A". If
// one role is none, the order of the terms must differ too, except for moments: "A after B" is not
// "B after A" in any order.
func (o *alignment) areRolesTraded() bool {
	for set := o.changed; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		r, s := o.a.terms[i].role, o.b.terms[o.to[i]].role
		for others := set & (set - 1); others != 0; others &= others - 1 {
			k := bits.TrailingZeros64(others)
			if o.a.terms[k].role == s && o.b.terms[o.to[k]].role == r && (r != 0 && s != 0 || r|s == moment || o.to[k] < o.to[i]) {
				return true
			}
		}
	}
	return false
}

// isOrderInverted reports whether two terms of the same role changed their order, for languages with
// a final verb.
func (o *alignment) isOrderInverted() bool {
	all := o.heavy
	if o.nouns != 0 { // the language capitalises nouns
		all &= o.nouns
	}
	for set := all; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		for others := set & (set - 1) & o.before[o.to[i]]; others != 0; others &= others - 1 {
			k := bits.TrailingZeros64(others)
			if (o.a.terms[i].is^o.a.terms[k].is)&cause == 0 && o.parts[i]&o.parts[k]&^roleChanged != 0 {
				return true
			}
		}
	}
	return false
}
