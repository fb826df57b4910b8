package similarity

import "math/bits"

// isPassive reports whether a copula precedes the verb at i.
func isPassive(list []term, i int) bool { return i > 0 && list[i-1].is&copula != 0 }

// isShifted reports whether a term follows "by" in one text and has no role in the other.
func isShifted(x, y *term) bool {
	return x.role != y.role && (x.role == 0 || y.role == 0) && (x.role|y.role == agent || x.role|y.role == means)
}

// comparePassive compares the terms that follow "by" in one text only. Each must either trade
// places or be the agent in one text only.
func (o *alignment) comparePassive() (swapped, doubt bool) {
	for set := o.shifted; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		if !isPassiveAgent(o.a.terms, k) && !isPassiveAgent(o.b.terms, int(o.to[k])) {
			continue
		}
		all := o.free & o.inA.sentenceSet(k)
		moved := all & (bitsBelow(k) ^ o.before[o.to[k]])
		if kept := all &^ moved; moved == 0 && kept != 0 {
			swapped, doubt = swapped || bits.OnesCount64(kept) > 1, true
		}
		if v, _ := o.verbOf(k); v >= 0 && !o.isMoved(k, v) {
			doubt = true
		}
	}
	for set := o.otherAgents; set != 0 && !doubt; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		v, passive := o.verbOf(k)
		doubt = passive && v >= 0 && !o.isMoved(k, v)
	}
	return swapped, doubt
}

// isMoved reports whether terms k and v of the first text have the reverse order in the second. It
// returns true for terms of different sentences.
func (o *alignment) isMoved(k, v int) bool {
	x, y := &o.b.terms[o.to[k]], &o.b.terms[o.to[v]]
	if o.a.terms[k].place>>8 != o.a.terms[v].place>>8 || x.place>>8 != y.place>>8 {
		return true
	}
	return (bitsBelow(k)^o.before[o.to[k]])>>v&1 != 0
}

// verbOf returns the term of the first text whose agent is k, or -1, and whether that verb is
// passive in the text that has the "by".
func (o *alignment) verbOf(k int) (v int, is bool) {
	if o.a.terms[k].role == agent || o.a.terms[k].role == means {
		i := lastVerb(o.a.terms, k, &o.to)
		return i, i >= 0 && isPassive(o.a.terms, i)
	}
	j := lastVerb(o.b.terms, int(o.to[k]), &o.from)
	if j < 0 {
		return -1, false
	}
	return int(o.from[j]), isPassive(o.b.terms, j)
}

// lastVerb returns the last matched term before k in its sentence that may be a verb, or -1.
func lastVerb(list []term, k int, partner *[maxTerms]int8) int {
	for i := k - 1; i >= 0 && list[i].place>>8 == list[k].place>>8; i-- {
		if partner[i] >= 0 && list[i].mayBeVerb() {
			return i
		}
	}
	return -1
}

// mayBeVerb reports whether t has no role and more than a light weight.
func (t *term) mayBeVerb() bool { return t.role == 0 && t.weight > weightLight }

// sourceSwapped reports whether a term with a strong role in one text only, such as after "from",
// moved past some terms of its sentence but not all.
func (o *alignment) sourceSwapped() bool {
	for set := o.changed; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		x, y := o.a.terms[k].role, o.b.terms[o.to[k]].role
		if (x|y)&strong == 0 || x != 0 && y != 0 {
			continue
		}
		all := o.free & o.inA.sentenceSet(k)
		moved := all & (bitsBelow(k) ^ o.before[o.to[k]])
		if moved != 0 && moved != all || o.roleMoved(k) {
			return true
		}
	}
	return false
}

// isPassiveAgent reports whether term k follows "by", or a "with" that belongs to a passive verb.
func isPassiveAgent(list []term, k int) bool {
	role := list[k].role
	for k > 0 && list[k-1].role == role {
		k--
	}
	return role == agent || role == means && k > 1 && list[k-2].is&copula != 0
}

// roleMoved reports whether another term, no agent, has a role in exactly the text in which k has
// none.
func (o *alignment) roleMoved(k int) bool {
	for set := o.changed &^ o.shifted; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if r, s := o.a.terms[i].role, o.b.terms[o.to[i]].role; (r == 0) != (s == 0) && (r == 0) == (o.b.terms[o.to[k]].role == 0) {
			return true
		}
	}
	return false
}
