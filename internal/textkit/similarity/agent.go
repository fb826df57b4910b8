package similarity

import "math/bits"

// passive reports whether a copula stands right before a verb.
func passive(list []term, i int) bool { return i > 0 && list[i-1].is&copula != 0 }

// shift reports whether a thing is behind a "by" in one of two texts only, and
// has no other role in the other.
func shift(x, y *term) bool {
	return x.role != y.role && (x.role == 0 || y.role == 0) && (x.role|y.role == agent || x.role|y.role == means)
}

// passive looks at what is behind a "by" in one text only. It must have changed
// places with something, or it is who does it in one and not in the other.
func (o *places) passive() (swapped, doubt bool) {
	for set := o.shifted; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		if !suffers(o.a.terms, k) && !suffers(o.b.terms, int(o.to[k])) {
			continue
		}
		all := o.free & o.inA.sentence(k)
		moved := all & (below(k) ^ o.before[o.to[k]])
		if kept := all &^ moved; moved == 0 && kept != 0 {
			swapped, doubt = swapped || bits.OnesCount64(kept) > 1, true
		}
		if v, _ := o.done(k); v >= 0 && !o.moved(k, v) {
			doubt = true
		}
	}
	for set := o.acting; set != 0 && !doubt; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		v, passive := o.done(k)
		doubt = passive && v >= 0 && !o.moved(k, v)
	}
	return swapped, doubt
}

// moved reports whether the terms k and v of the first text stand the other way
// round in the second: what is done stands behind who does it, or before its "by".
// Of terms of two sentences it is not known, and taken to be so.
func (o *places) moved(k, v int) bool {
	x, y := &o.b.terms[o.to[k]], &o.b.terms[o.to[v]]
	if o.a.terms[k].place>>8 != o.a.terms[v].place>>8 || x.place>>8 != y.place>>8 {
		return true
	}
	return (below(k)^o.before[o.to[k]])>>v&1 != 0
}

// done returns the term of the first text for what is done by the thing k, which
// is behind a "by" in one text, or -1; and whether it is in the passive there.
func (o *places) done(k int) (v int, is bool) {
	if o.a.terms[k].role == agent || o.a.terms[k].role == means {
		i := last(o.a.terms, k, &o.to)
		return i, i >= 0 && passive(o.a.terms, i)
	}
	j := last(o.b.terms, int(o.to[k]), &o.from)
	if j < 0 {
		return -1, false
	}
	return int(o.from[j]), passive(o.b.terms, j)
}

// last returns the last term with a partner before the one at k that may be its
// verb, in its sentence, or -1.
func last(list []term, k int, partner *[maxTerms]int8) int {
	for i := k - 1; i >= 0 && list[i].place>>8 == list[k].place>>8; i-- {
		if partner[i] >= 0 && list[i].verbal() {
			return i
		}
	}
	return -1
}

// verbal reports whether a term may be a verb.
func (t *term) verbal() bool { return t.role == 0 && t.weight > slight }

// sourced reports whether a thing that has a strong role in one text only, as
// behind a "from", and none in the other, stands before some things and behind
// others that it did not stand so with: who gives must stand before all.
func (o *places) sourced() bool {
	for set := o.changed; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		x, y := o.a.terms[k].role, o.b.terms[o.to[k]].role
		if (x|y)&strong == 0 || x != 0 && y != 0 {
			continue
		}
		all := o.free & o.inA.sentence(k)
		moved := all & (below(k) ^ o.before[o.to[k]])
		if moved != 0 && moved != all || o.follows(k) {
			return true
		}
	}
	return false
}

// suffers reports whether a thing is behind a "by", or behind a "with" that
// follows a verb after a copula.
func suffers(list []term, k int) bool {
	role := list[k].role
	for k > 0 && list[k-1].role == role {
		k--
	}
	return role == agent || role == means && k > 1 && list[k-2].is&copula != 0
}

// follows reports whether a thing other than k has a role in that text only in
// which k has none, and is not who does it.
func (o *places) follows(k int) bool {
	for set := o.changed &^ o.shifted; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if r, s := o.a.terms[i].role, o.b.terms[o.to[i]].role; (r == 0) != (s == 0) && (r == 0) == (o.b.terms[o.to[k]].role == 0) {
			return true
		}
	}
	return false
}
