package similarity

import "math/bits"

// Limits on unmatched weight; an unlisted word weighs 4. The constants are fitted on the build
// half of the labelled pairs. There leftBoth 1 or 2 with leftOne 0.16 to 0.24 is nearly as good;
// leftBoth 3 merges different texts.
const (
	leftBoth = 2    // weight that both texts may leave unmatched, for another wording
	leftOne  = 0.20 // share of its weight that one text may leave unmatched, for an addition
	turnBoth = 3    // the same limits for opposite texts
	turnOne  = 0.34
)

// mayMatch is a cheap test whether two texts may share enough terms. The bound is loose, because
// an opposite word, a number or a name is one bit.
func mayMatch(a, b uint64) bool { return bits.OnesCount64(a&b)+2 >= bits.OnesCount64(a^b) }

// A pair is two texts and the partners of their terms.
type pair struct {
	a, b         *Text
	to           [maxTerms]int8 // the term of b, -1 if there is none
	from         [maxTerms]int8
	single       uint64 // terms of a whose id occurs once in each text, as bits
	flips        int    // pairs of terms with opposite meaning
	prefixFlips  int    // flips by a negative prefix on one side
	negatedFlips int    // flips with a negation on one side
	negs         int    // pairs with one negated term
	leftA        int    // unmatched weight
	leftB        int
	numbersA     int // unmatched numbers
	numbersB     int
	quantsA      int // unmatched quantifiers
	quantsB      int
	fewA         int // unmatched quantifiers for a small amount
	fewB         int
	decided      bool // an unmatched term changes the meaning
	asksMore     bool // one text asks for something else
}

func (p *pair) verdict() Verdict {
	if !p.matchTerms() {
		return Different
	}
	p.countTerms()
	if p.asksMore || !p.isClose(turnBoth, turnOne) {
		return Different
	}
	swapped, doubt := p.compareOrder()
	turns, agree := p.countTurns()
	if swapped {
		turns++
	}
	switch {
	case turns == 0 && agree && !doubt && p.isClose(leftBoth, leftOne):
		return Same
	case swapped && !p.isClose(leftBoth, leftOne):
		return Different
	case turns%2 == 1:
		return Opposite
	}
	return Different
}

// countTurns returns how often one text reverses the other's meaning, and whether no other
// decisive term is unmatched.
func (p *pair) countTurns() (n int, agree bool) {
	nots := int(p.a.nots) - int(p.b.nots)
	n = p.flips
	if p.prefixFlips == 1 && p.negatedFlips == 1 && p.flips == 1 && p.negs == 1 && (nots == 1 || nots == -1) {
		n, nots, p.negs = 0, 0, 0 // "not consistent" is "inconsistent"
	}
	if nots%2 != 0 {
		n++
	}
	if p.numbersA > 0 && p.numbersB > 0 {
		n++
	}
	if p.quantsA > 0 && p.quantsB > 0 && (p.fewA > 0) != (p.fewB > 0) {
		n++
	}
	agree = nots == 0 && p.negs == 0 && p.numbersA+p.numbersB == 0 && (p.quantsA == 0 || p.quantsB == 0) && p.fewA+p.fewB == 0
	return n, agree && !p.decided
}

// isClose reports whether the unmatched weight is within the limits.
func (p *pair) isClose(both int, one float64) bool {
	return min(p.leftA, p.leftB) <= both &&
		float64(p.leftA) <= one*float64(p.a.weight) && float64(p.leftB) <= one*float64(p.b.weight) &&
		p.leftA < int(p.a.weight) && p.leftB < int(p.b.weight)
}

// countTerms counts reversals of meaning and unmatched terms.
func (p *pair) countTerms() {
	for i := range p.a.terms {
		x := &p.a.terms[i]
		if p.to[i] < 0 {
			p.countUnmatched(x, &p.leftA, &p.numbersA, &p.quantsA, &p.fewA)
			continue
		}
		y := &p.b.terms[p.to[i]]
		if x.id != y.id {
			p.flips++
			p.prefixFlips++
			if (x.is^y.is)&negated != 0 {
				p.negatedFlips++
			}
		} else if (x.is^y.is)&opposite != 0 {
			p.flips++
		}
		if (x.is^y.is)&negated != 0 {
			p.negs++
		}
	}
	for j := range p.b.terms {
		if p.from[j] < 0 {
			p.countUnmatched(&p.b.terms[j], &p.leftB, &p.numbersB, &p.quantsB, &p.fewB)
		}
	}
}

// countUnmatched counts a term without a partner.
func (p *pair) countUnmatched(t *term, weight, numbers, quants, few *int) {
	switch {
	case t.is&amount != 0:
		*numbers++
		return
	case t.is&quantity != 0:
		*quants++
		if t.is&opposite != 0 {
			*few++
		}
	case t.is&questionWord != 0:
		p.asksMore = true
	case t.is&(decisive|opposite) != 0:
		p.decided = true
	}
	*weight += int(t.weight)
}
