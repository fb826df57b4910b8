package vector

import (
	"cmp"
	"slices"
)

// A Scored is a passage and what some ranking gives it; more is better.
type Scored struct {
	Passage int64
	Score   float64
}

// Bounds of what [Weight] returns, and how many of the first it looks at.
const (
	leastWeight = 0.3
	mostWeight  = 0.6
	agreeing    = 20
)

// Weight returns the weight that the dense of two rankings, best first, has
// earned for [Fuse]: the share of the first twenty that both have, from 0.3 to
// 0.6. A model that knows the field agrees more with the words than one that does
// not, so that a bad one does little harm; and one that finds what is said in
// other words is heard where they agree on nothing.
func Weight(lexical, dense []Scored) float64 {
	n := min(agreeing, len(lexical), len(dense))
	if n == 0 {
		return mostWeight
	}
	first := make(map[int64]bool, n)
	for _, s := range lexical[:n] {
		first[s.Passage] = true
	}
	both := 0
	for _, s := range dense[:n] {
		if first[s.Passage] {
			both++
		}
	}
	return min(max(float64(both)/float64(n), leastWeight), mostWeight)
}

// Fuse joins two rankings of passages, in any order, into one, best first; of
// equals the one with the smaller number. Each ranking's scores are stretched to
// 0..1, from the worst of the ranking to the best, and a passage that a ranking
// does not have gets 0 there; the sum weighs the dense one by weight, which is
// bounded to 0..1, and the lexical one by what is left. So rankings should be
// deep, some hundred passages, for what they leave out counts as their worst.
// Where only one of them has anything, its passages are ranked as if alone. A
// passage that comes twice in a ranking counts once, at its best.
func Fuse(lexical, dense []Scored, weight float64) []Scored {
	weight = min(max(weight, 0), 1)
	switch {
	case len(dense) == 0:
		weight = 0
	case len(lexical) == 0:
		weight = 1
	}
	sum := make(map[int64]float64, len(lexical)+len(dense))
	for id, s := range stretch(lexical) {
		sum[id] += (1 - weight) * s
	}
	for id, s := range stretch(dense) {
		sum[id] += weight * s
	}
	out := make([]Scored, 0, len(sum))
	for id, s := range sum {
		out = append(out, Scored{id, s})
	}
	slices.SortFunc(out, better)
	return out
}

// better orders the best first.
func better(a, b Scored) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage))
}

// stretch returns the scores of a ranking from 0 to 1; all are 1 if they are
// the same.
func stretch(ranking []Scored) map[int64]float64 {
	best := make(map[int64]float64, len(ranking))
	for _, s := range ranking {
		if old, ok := best[s.Passage]; !ok || s.Score > old {
			best[s.Passage] = s.Score
		}
	}
	low, high, first := 0.0, 0.0, true
	for _, s := range best {
		if first {
			low, high, first = s, s, false
		}
		low, high = min(low, s), max(high, s)
	}
	for id, s := range best {
		if high > low {
			best[id] = (s - low) / (high - low)
		} else {
			best[id] = 1
		}
	}
	return best
}
