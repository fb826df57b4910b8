package same

import "math/bits"

// How much may be left over, fitted on the build half of the labelled pairs.
const (
	leftBoth = 2    // weight that both may have left over: what one says in other words
	leftOne  = 0.20 // share of its weight that one may have left over: what one adds
	turnBoth = 3    // likewise, of texts that are opposite
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
	quantsA  int // quantifiers without a partner
	quantsB  int
	fewA     int // of those, the ones for little
	fewB     int
	decided  bool // one has what turns the meaning, and no partner
	asked    bool // one asks for what the other does not
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
	if p.quantsA > 0 && p.quantsB > 0 && (p.fewA > 0) != (p.fewB > 0) {
		turns++
	}
	if p.asked {
		return Different
	}
	plain := turns == 0 && nots == 0 && p.negs == 0 && p.numbersA == 0 && p.numbersB == 0 && (p.quantsA == 0 || p.quantsB == 0) && p.fewA == 0 && p.fewB == 0 && !p.decided && !doubt
	switch {
	case plain && p.close(leftBoth, leftOne):
		return Same
	case swapped && !p.close(leftBoth, leftOne):
		return Different
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

// match finds the partner of each term: first the same word, then one of the
// same meaning, then of the opposite one. Equal terms are partners in their order.
func (p *pair) match() {
	for i := range p.a.terms {
		p.to[i] = -1
	}
	for j := range p.b.terms {
		p.from[j] = -1
	}
	p.join(func(x, y *term) bool { return x.id == y.id && x.rest == y.rest && (x.is^y.is)&(opposite|negated) == 0 })
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
			p.left(x, &p.leftA, &p.numbersA, &p.quantsA, &p.fewA)
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
			p.left(&p.b.terms[j], &p.leftB, &p.numbersB, &p.quantsB, &p.fewB)
		}
	}
}

// left counts a term that has no partner.
func (p *pair) left(t *term, weight, numbers, quants, few *int) {
	switch {
	case t.is&amount != 0:
		*numbers++
		return
	case t.is&quantity != 0:
		*quants++
		if t.is&opposite != 0 {
			*few++
		}
	case t.is&asking != 0:
		p.asked = true
	case t.is&(decisive|opposite) != 0:
		p.decided = true
	}
	*weight += int(t.weight)
}
