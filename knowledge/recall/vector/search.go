package vector

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"ponder/internal/textkit/ranking"
)

// Hit is a passage that was found; the score is the cosine of its vector and
// that of the query, from -1 to 1.
type Hit = Scored

const (
	share  = 32 // blocks that a core takes at once
	margin = 32 // candidates that are compared closely, more than twice those wanted
)

// Search returns up to n passages that keep lets through, those nearest to the
// query first; of equals the one with the smaller number. Keep may be nil, and is
// called by several goroutines at once, only for passages that might be among the
// best. A query of another length than the model's vectors is ErrLength; a model
// without vectors finds nothing. The first search of a model reads its vectors.
func (v *Vectors) Search(ctx context.Context, model string, query []float32, n int, keep func(passage int64) bool) ([]Hit, error) {
	if n <= 0 {
		return nil, nil
	}
	s, err := v.snapshot(ctx, model)
	if err != nil {
		return nil, fmt.Errorf("search vectors of %s: %w", model, err)
	}
	if s == nil || len(s.blocks) == 0 {
		return nil, nil
	}
	if len(query) != s.length {
		return nil, fmt.Errorf("search vectors of %s: %w: the query has %d coordinates, vectors have %d", model, ErrLength, len(query), s.length)
	}
	q, err := unitVector(query)
	if err != nil {
		return nil, fmt.Errorf("search vectors of %s: query: %w", model, err)
	}
	hits := s.nearest(ctx, q, n, keep)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("search vectors of %s: %w", model, err)
	}
	return hits, nil
}

// unitVector returns a vector of length 1, or all zeros.
func unitVector(v []float32) ([]float32, error) {
	norm, _, err := measure(v)
	if err != nil || norm == 0 {
		return v, err
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / norm)
	}
	return out, nil
}

// A candidate is a row of a block, and about how near it is.
type candidate struct {
	score      float32
	block, row int
}

// better orders candidates, no two of which are equal.
func (c *candidate) better(than *candidate) bool {
	switch {
	case c.score != than.score:
		return c.score > than.score
	case c.block != than.block:
		return c.block < than.block
	}
	return c.row < than.row
}

// nearest returns the n nearest to a vector of length 1.
func (s *snapshot) nearest(ctx context.Context, query []float32, n int, keep func(int64) bool) []Hit {
	room := 2*n + margin
	workers := min(runtime.GOMAXPROCS(0), (len(s.blocks)+share-1)/share)
	found := make([]*ranking.Best[candidate], max(workers, 1))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range found {
		found[i] = ranking.NewBest(room, (*candidate).better)
		wg.Go(func() { s.scan(ctx, &next, sharpen(query), found[i], keep) })
	}
	wg.Wait()
	all := found[0]
	for _, f := range found[1:] {
		for _, c := range f.Items() {
			all.Add(c)
		}
	}
	hits := make([]Hit, len(all.Items()))
	for i, c := range all.Items() {
		b := s.blocks[c.block]
		hits[i] = Hit{b.passage(c.row), b.row(c.row, stride(s.length)).dot(query)}
	}
	slices.SortFunc(hits, better)
	return hits[:min(n, len(hits))]
}

// scan looks at blocks, as long as there are any that nobody has looked at, for
// the best rows.
func (s *snapshot) scan(ctx context.Context, next *atomic.Int64, query []int16, found *ranking.Best[candidate], keep func(int64) bool) {
	var out [blockSize]int32
	for ctx.Err() == nil {
		from := int(next.Add(share)) - share
		if from >= len(s.blocks) {
			return
		}
		for i, b := range s.blocks[from:min(from+share, len(s.blocks))] {
			dots(b.codes, query, out[:len(b.scales)])
			for row, scale := range b.scales {
				c := candidate{score: float32(out[row]) * scale, block: from + i, row: row}
				if (!found.Full() || c.better(&found.Items()[0])) && (keep == nil || keep(b.passage(row))) {
					found.Add(c)
				}
			}
		}
	}
}

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
