package subconscious

import (
	"math/bits"
	"slices"
)

// likeness returns how much of what they are about two texts share, from 0 to 1 (the
// coefficient of Dice). A value counts as much as a word.
func (p *phrase) likeness(o *phrase) float64 {
	all := len(p.words) + len(o.words)
	if all == 0 || bits.OnesCount64(p.kinds&o.kinds) == 0 {
		return 0
	}
	both := shared(p.words, o.words)
	for _, v := range p.values {
		if o.hasValue(v) {
			both++
		}
	}
	all += len(p.values) + len(o.values)
	return min(1, 2*float64(both)/float64(all))
}

// within returns which share of what a text is about another has too.
func (p *phrase) within(o *phrase) float64 {
	return float64(shared(p.words, o.words)) / float64(len(p.words))
}

// shared returns how many numbers two sorted lists have in common.
func shared(a, b []uint32) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			i, j, n = i+1, j+1, n+1
		}
	}
	return n
}

// disagrees reports whether two texts cannot say the same: they have other values or
// names, one denies what the other says, or one has another word in the same place.
func (p *phrase) disagrees(o *phrase) bool {
	return p.otherValue(o) || p.otherName(o) || p.turned(o) || p.replaced(o)
}

// otherValue reports whether each has a value of some kind that the other has not.
func (p *phrase) otherValue(o *phrase) bool {
	var a, b [256]bool
	for _, v := range p.values {
		a[v.kind] = a[v.kind] || !o.hasValue(v)
	}
	for _, v := range o.values {
		b[v.kind] = b[v.kind] || !p.hasValue(v)
	}
	for _, kind := range "ntwmi" {
		if a[kind] && b[kind] {
			return true
		}
	}
	return false
}

// otherName reports whether each names something that the other does not.
func (p *phrase) otherName(o *phrase) bool {
	lacks := func(names []uint32, o *phrase) bool {
		return slices.ContainsFunc(names, func(n uint32) bool { _, has := slices.BinarySearch(o.words, n); return !has })
	}
	a, b := lacks(p.names, o), lacks(o.names, p)
	return a && b
}

// turned reports whether something turns the meaning of one text round: a negation, or a
// word for the opposite. Both together do not: "not open" is "closed".
func (p *phrase) turned(o *phrase) bool {
	opposite := slices.ContainsFunc(p.sides, func(s side) bool {
		other := side{s.pair, !s.right}
		return slices.Contains(o.sides, other) && !slices.Contains(o.sides, s) && !slices.Contains(p.sides, other)
	})
	switch p.nots - o.nots {
	case 0:
		return opposite
	case 1, -1:
		return !opposite
	}
	return true
}

// replaced reports whether a word of one text stands where the other has another, with
// the same words around: what is almost a copy differs in what it is about.
func (p *phrase) replaced(o *phrase) bool {
	for i := 1; i+1 < len(p.order); i++ {
		w := p.order[i]
		if !p.about[i] || slices.Contains(o.order, w) {
			continue
		}
		for j := 1; j+1 < len(o.order); j++ {
			x := o.order[j]
			if o.about[j] && p.order[i-1] == o.order[j-1] && p.order[i+1] == o.order[j+1] && !slices.Contains(p.order, x) {
				return true
			}
		}
	}
	return false
}
