package similarity

import "slices"

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

// match finds the partner of each term: the same word first, then the same meaning, then the
// opposite. Equal terms match in order. It returns false as soon as only Different is possible.
func (p *pair) match() bool {
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
		p.join(at, p.b.terms[j].nth)
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
			p.join(i, at)
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

func (p *pair) join(i, j uint8) { p.to[i], p.from[j] = int8(j), int8(i) }

// matchPrefixed matches terms that differ only by a negative prefix.
func (p *pair) matchPrefixed() {
	for i := range p.a.terms {
		x := &p.a.terms[i]
		for j := 0; j < len(p.b.terms) && p.to[i] < 0; j++ {
			y := &p.b.terms[j]
			if p.from[j] < 0 && (x.is&prefixed != 0 && x.rest == y.id || y.is&prefixed != 0 && x.id == y.rest) {
				p.join(uint8(i), uint8(j))
			}
		}
	}
}
