package similarity

import "slices"

// sort notes the order of terms by their ids, and among equals by their places,
// so that two texts are matched in one pass over both.
func sort(terms []term) {
	var keys [maxTerms]uint64
	for i := range terms {
		keys[i] = uint64(terms[i].id)<<8 | uint64(i)
	}
	slices.Sort(keys[:len(terms)])
	for n := range terms {
		terms[n].nth = uint8(keys[n])
	}
}

// match finds the partner of each term: first the same word, then one of the
// same meaning, then of the opposite one. Equal terms are partners in their order.
// It returns false as soon as too much is left over for any verdict but Different.
func (p *pair) match() bool {
	a, b := p.a.terms, p.b.terms
	for i := range a {
		p.to[i] = -1
	}
	for j := range b {
		p.from[j] = -1
	}
	left := bound{a: int(turnOne * float64(p.a.weight)), b: int(turnOne * float64(p.b.weight)), off: p.a.prefixed || p.b.prefixed}
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x, y := &a[a[i].nth], &b[b[j].nth]
		switch {
		case x.id < y.id:
			if i++; left.overA(x) {
				return false
			}
		case x.id > y.id:
			if j++; left.overB(y) {
				return false
			}
		default:
			m, n := run(a, i), run(b, j)
			p.group(i, m, j, n)
			i, j = m, n
		}
	}
	for ; i < len(a); i++ {
		if left.overA(&a[a[i].nth]) {
			return false
		}
	}
	for ; j < len(b); j++ {
		if left.overB(&b[b[j].nth]) {
			return false
		}
	}
	if left.off {
		p.undo()
	}
	return true
}

// A bound is how much may be left over of each text for texts to be close at all.
type bound struct {
	a, b  int // what may be
	leftA int // what is
	leftB int
	off   bool // a term with a negative prefix may find a partner later
}

// beyond reports whether too much of a text is left over beside any of such kinds, where
// no negative prefix helps. It needs no look at the terms of the other, and so is quick.
func (t *Text) beyond(kinds uint64) bool {
	left := bound{a: int(turnOne * float64(t.weight))}
	for i := range t.terms {
		if x := &t.terms[i]; kinds>>(x.id%64)&1 == 0 && left.overA(x) {
			return true
		}
	}
	return false
}

// overA counts a term of the first text that has no partner, and reports whether
// the texts are Different for that.
func (w *bound) overA(t *term) bool {
	if t.is&amount == 0 {
		w.leftA += int(t.weight)
	}
	return !w.off && (t.is&asking != 0 || w.leftA > w.a || min(w.leftA, w.leftB) > turnBoth)
}

func (w *bound) overB(t *term) bool {
	if t.is&amount == 0 {
		w.leftB += int(t.weight)
	}
	return !w.off && (t.is&asking != 0 || w.leftB > w.b || min(w.leftA, w.leftB) > turnBoth)
}

// run returns where the terms of the id of the one at i end, in the order of ids.
func run(terms []term, i int) int {
	id := terms[terms[i].nth].id
	for i++; i < len(terms) && terms[terms[i].nth].id == id; i++ {
	}
	return i
}

// group joins terms of one id, which are from i to m and from j to n in their
// order: the most alike first.
func (p *pair) group(i, m, j, n int) {
	if m-i == 1 && n-j == 1 {
		at := p.a.terms[i].nth
		p.single |= 1 << at
		p.join(at, p.b.terms[j].nth)
		return
	}
	left := min(m-i, n-j)
	for degree := 0; degree < degrees && left > 0; degree++ {
		first := j // what is before has a partner
		for k := i; k < m && left > 0; k++ {
			for first < n && p.from[p.b.terms[first].nth] >= 0 {
				first++
			}
			if p.first(p.a.terms[k].nth, first, n, degree) {
				left--
			}
		}
	}
}

// first joins the term i with the first that is like it, of those from j to n in
// the order of ids. It returns false if there is none.
func (p *pair) first(i uint8, j, n, degree int) bool {
	if p.to[i] >= 0 {
		return false
	}
	x := &p.a.terms[i]
	for ; j < n; j++ {
		if at := p.b.terms[j].nth; p.from[at] < 0 && like(x, &p.b.terms[at], degree) {
			p.join(i, at)
			return true
		}
	}
	return false
}

// like reports whether two terms of one id are alike, of these degrees: the same
// word on the same side, the same side with the same negation, the same side, all.
func like(x, y *term, degree int) bool {
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

const degrees = 4

func (p *pair) join(i, j uint8) { p.to[i], p.from[j] = int8(j), int8(i) }

// undo joins what is left with what is the same but for a negative prefix.
func (p *pair) undo() {
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
