package similarity

import "math/bits"

// How much may be left over. A heavy word weighs 4. Fitted on the build half of
// the labelled pairs, where leftBoth of 1 or 2 with leftOne from 0.16 to 0.24 do
// nearly as well, and leftBoth of 3 merges what is different.
const (
	leftBoth = 2    // weight that both may have left over: what one says in other words
	leftOne  = 0.20 // share of its weight that one may have left over: what one adds
	turnBoth = 3    // likewise, of texts that are opposite
	turnOne  = 0.34
)

// near reports whether two texts of such kinds may have enough in common, by a glance.
// The bound is loose: an opposite word, a number or a name is a bit.
func near(a, b uint64) bool { return bits.OnesCount64(a&b)+2 >= bits.OnesCount64(a^b) }

// A pair is two texts and which of their terms belong together.
type pair struct {
	a, b     *Text
	to       [maxTerms]int8 // the term of b, -1 if there is none
	from     [maxTerms]int8
	single   uint64 // a bit for each term of a whose id both texts have once
	flips    int    // pairs of terms with opposite meaning
	prefixed int    // of those, the ones with a negative prefix on one side
	undone   int    // of those, the ones with a negation on one side
	negs     int    // pairs of which one is negated
	leftA    int    // weight of what has no partner
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

// verdict compares the two texts of a pair.
func (p *pair) verdict() Verdict {
	if !p.match() {
		return Different
	}
	p.count()
	if p.asked || !p.close(turnBoth, turnOne) {
		return Different
	}
	swapped, doubt := p.order()
	turns, agree := p.turns()
	if swapped {
		turns++
	}
	switch {
	case turns == 0 && agree && !doubt && p.close(leftBoth, leftOne):
		return Same
	case swapped && !p.close(leftBoth, leftOne):
		return Different
	case turns%2 == 1:
		return Opposite
	}
	return Different
}

// turns returns how often one text turns the meaning of the other round, and
// whether nothing else decisive is in one only.
func (p *pair) turns() (n int, agree bool) {
	nots := int(p.a.nots) - int(p.b.nots)
	n = p.flips
	if p.prefixed == 1 && p.undone == 1 && p.flips == 1 && p.negs == 1 && (nots == 1 || nots == -1) {
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

// close reports whether little enough is left over.
func (p *pair) close(both int, one float64) bool {
	return min(p.leftA, p.leftB) <= both &&
		float64(p.leftA) <= one*float64(p.a.weight) && float64(p.leftB) <= one*float64(p.b.weight) &&
		p.leftA < int(p.a.weight) && p.leftB < int(p.b.weight)
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
			if (x.is^y.is)&negated != 0 {
				p.undone++
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
