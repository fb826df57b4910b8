package similarity

import (
	"math/bits"
	"slices"
)

// orderByID records the order of terms by id, then place, so that match needs one pass over both
// texts.
func orderByID(terms []term) {
	var keys [maxTerms]uint64
	for i := range terms {
		keys[i] = uint64(terms[i].id)<<8 | uint64(i)
	}
	slices.Sort(keys[:len(terms)])
	for n := range terms {
		terms[n].nth = uint8(keys[n])
	}
}

// matchTerms finds the partner of each term: the same word first, then the same meaning, then the
// opposite. Equal terms match in order. It returns false as soon as only Different is possible.
func (p *pair) matchTerms() bool {
	a, b := p.a.terms, p.b.terms
	for i := range a {
		p.to[i] = -1
	}
	for j := range b {
		p.from[j] = -1
	}
	left := leftovers{limitA: int(turnOne * float64(p.a.weight)), limitB: int(turnOne * float64(p.b.weight)), off: p.a.prefixed || p.b.prefixed}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := &a[a[i].nth], &b[b[j].nth]
		switch {
		case x.id < y.id:
			if i++; left.addA(x) {
				return false
			}
		case x.id > y.id:
			if j++; left.addB(y) {
				return false
			}
		default:
			m, n := runEnd(a, i), runEnd(b, j)
			p.matchGroup(i, m, j, n)
			i, j = m, n
		}
	}
	for ; i < len(a); i++ {
		if left.addA(&a[a[i].nth]) {
			return false
		}
	}
	for ; j < len(b); j++ {
		if left.addB(&b[b[j].nth]) {
			return false
		}
	}
	if left.off {
		p.matchPrefixed()
	}
	return true
}

// A leftovers counts the unmatched weight of two texts against its limits.
type leftovers struct {
	limitA, limitB int // limits
	leftA          int
	leftB          int
	off            bool // a negative prefix may match later, so no limit applies
}

// exceedsLimit reports whether t leaves too much unmatched for any text with these id bits,
// ignoring negative prefixes. It is fast because it reads no terms of the other text.
func (t *Text) exceedsLimit(kinds uint64) bool {
	left := leftovers{limitA: int(turnOne * float64(t.weight))}
	for i := range t.terms {
		if x := &t.terms[i]; kinds>>(x.id%64)&1 == 0 && left.addA(x) {
			return true
		}
	}
	return false
}

// addA counts an unmatched term of the first text and reports whether the verdict is Different.
func (w *leftovers) addA(t *term) bool {
	if t.is&amount == 0 {
		w.leftA += int(t.weight)
	}
	return !w.off && (t.is&questionWord != 0 || w.leftA > w.limitA || min(w.leftA, w.leftB) > turnBoth)
}

func (w *leftovers) addB(t *term) bool {
	if t.is&amount == 0 {
		w.leftB += int(t.weight)
	}
	return !w.off && (t.is&questionWord != 0 || w.leftB > w.limitB || min(w.leftA, w.leftB) > turnBoth)
}

// runEnd returns the end of the run of equal ids that contains i, in id order.
func runEnd(terms []term, i int) int {
	id := terms[terms[i].nth].id
	for i++; i < len(terms) && terms[terms[i].nth].id == id; i++ {
	}
	return i
}

// matchGroup matches the terms of one id, a from i to m and b from j to n in id order, the most
// alike first.
func (p *pair) matchGroup(i, m, j, n int) {
	if m-i == 1 && n-j == 1 {
		at := p.a.terms[i].nth
		p.single |= 1 << at
		p.setMatch(at, p.b.terms[j].nth)
		return
	}
	left := min(m-i, n-j)
	for degree := 0; degree < alikeDegrees && left > 0; degree++ {
		first := j // earlier terms have a partner
		for k := i; k < m && left > 0; k++ {
			for first < n && p.from[p.b.terms[first].nth] >= 0 {
				first++
			}
			if p.matchFirst(p.a.terms[k].nth, first, n, degree) {
				left--
			}
		}
	}
}

// matchFirst matches term i with the first term of b from j to n that is alike to the degree. It
// reports whether there is one.
func (p *pair) matchFirst(i uint8, j, n, degree int) bool {
	if p.to[i] >= 0 {
		return false
	}
	x := &p.a.terms[i]
	for ; j < n; j++ {
		if at := p.b.terms[j].nth; p.from[at] < 0 && isAlike(x, &p.b.terms[at], degree) {
			p.setMatch(i, at)
			return true
		}
	}
	return false
}

// isAlike reports whether two terms of one id agree in: 0 word, side and negation; 1 side and
// negation; 2 side; 3 nothing.
func isAlike(x, y *term, degree int) bool {
	switch degree {
	case 0:
		return x.rest == y.rest && (x.is^y.is)&(opposite|negated) == 0
	case 1:
		return (x.is^y.is)&(opposite|negated) == 0
	case 2:
		return (x.is^y.is)&opposite == 0
	}
	return true
}

const alikeDegrees = 4

func (p *pair) setMatch(i, j uint8) { p.to[i], p.from[j] = int8(j), int8(i) }

// matchPrefixed matches terms that differ only by a negative prefix.
func (p *pair) matchPrefixed() {
	for i := range p.a.terms {
		x := &p.a.terms[i]
		for j := 0; j < len(p.b.terms) && p.to[i] < 0; j++ {
			y := &p.b.terms[j]
			if p.from[j] < 0 && (x.is&prefixed != 0 && x.rest == y.id || y.is&prefixed != 0 && x.id == y.rest) {
				p.setMatch(uint8(i), uint8(j))
			}
		}
	}
}

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

// isSourceSwapped reports whether a term with a strong role in one text only, such as after "from",
// moved past some terms of its sentence but not all.
func (o *alignment) isSourceSwapped() bool {
	for set := o.changed; set != 0; set &= set - 1 {
		k := bits.TrailingZeros64(set)
		x, y := o.a.terms[k].role, o.b.terms[o.to[k]].role
		if (x|y)&strong == 0 || x != 0 && y != 0 {
			continue
		}
		all := o.free & o.inA.sentenceSet(k)
		moved := all & (bitsBelow(k) ^ o.before[o.to[k]])
		if moved != 0 && moved != all || o.isRoleMoved(k) {
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

// isRoleMoved reports whether another term, no agent, has a role in exactly the text in which k has
// none.
func (o *alignment) isRoleMoved(k int) bool {
	for set := o.changed &^ o.shifted; set != 0; set &= set - 1 {
		i := bits.TrailingZeros64(set)
		if r, s := o.a.terms[i].role, o.b.terms[o.to[i]].role; (r == 0) != (s == 0) && (r == 0) == (o.b.terms[o.to[k]].role == 0) {
			return true
		}
	}
	return false
}
