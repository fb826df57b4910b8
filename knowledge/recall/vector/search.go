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

// A Hit is a passage with the cosine of its vector and the query's, -1 to 1.
type Hit = ScoredPassage

const (
	blocksPerScan = 32
	margin        = 32 // additional candidates for exact comparison
)

// Search returns up to n passages that keep allows, the nearest first, then the smaller
// number. Keep may be nil; several goroutines call it, only for likely hits. A query of
// another length is ErrLength. The first search reads the model's vectors.
func (v *Vectors) Search(ctx context.Context, model string, query []float32, n int, keep func(passage int64) bool) ([]Hit, error) {
	if n <= 0 {
		return nil, nil
	}
	s, err := v.currentSnapshot(ctx, model)
	if err != nil {
		return nil, fmt.Errorf("search vectors of %s: %w", model, err)
	}
	if s == nil || len(s.blocks) == 0 {
		return nil, nil
	}
	if len(query) != s.length {
		return nil, fmt.Errorf("search vectors of %s: %w: the query has %d coordinates, stored vectors have %d", model, ErrLength, len(query), s.length)
	}
	q, err := unitVector(query)
	if err != nil {
		return nil, fmt.Errorf("search vectors of %s: check query: %w", model, err)
	}
	hits := s.nearestHits(ctx, q, n, keep)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("search vectors of %s: %w", model, err)
	}
	return hits, nil
}

func unitVector(v []float32) ([]float32, error) {
	norm, _, err := measureVector(v)
	if err != nil || norm == 0 {
		return v, err
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / norm)
	}
	return out, nil
}

type candidate struct {
	score      float32
	block, row int
}

func (c *candidate) isBetter(than *candidate) bool {
	switch {
	case c.score != than.score:
		return c.score > than.score
	case c.block != than.block:
		return c.block < than.block
	}
	return c.row < than.row
}

func (s *snapshot) nearestHits(ctx context.Context, query []float32, n int, keep func(int64) bool) []Hit {
	room := 2*n + margin
	workers := min(runtime.GOMAXPROCS(0), (len(s.blocks)+blocksPerScan-1)/blocksPerScan)
	found := make([]*ranking.Best[candidate], max(workers, 1))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range found {
		found[i] = ranking.NewBest(room, (*candidate).isBetter)
		wg.Go(func() { s.scanBlocks(ctx, &next, scaleQuery(query), found[i], keep) })
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
		hits[i] = Hit{b.passageAt(c.row), b.rowAt(c.row, paddedLength(s.length)).dotProduct(query)}
	}
	slices.SortFunc(hits, compareScores)
	return hits[:min(n, len(hits))]
}

// scanBlocks examines the next blocks until none is left.
func (s *snapshot) scanBlocks(ctx context.Context, next *atomic.Int64, query []int16, found *ranking.Best[candidate], keep func(int64) bool) {
	var out [blockSize]int32
	for ctx.Err() == nil {
		from := int(next.Add(blocksPerScan)) - blocksPerScan
		if from >= len(s.blocks) {
			return
		}
		for i, b := range s.blocks[from:min(from+blocksPerScan, len(s.blocks))] {
			dotRows(b.codes, query, out[:len(b.scales)])
			for row, scale := range b.scales {
				c := candidate{score: float32(out[row]) * scale, block: from + i, row: row}
				if (!found.Full() || c.isBetter(&found.Items()[0])) && (keep == nil || keep(b.passageAt(row))) {
					found.Add(c)
				}
			}
		}
	}
}

// A ScoredPassage has a score; higher is better.
type ScoredPassage struct {
	Passage int64
	Score   float64
}

// Bounds of [Weight], and the passages that it compares.
const (
	minWeight      = 0.3
	maxWeight      = 0.6
	agreementDepth = 20
)

// Weight returns the weight of the dense ranking for [Fuse]: the common share of the
// first twenty, from 0.3 to 0.6. A model that suits the field agrees with the words, so
// a bad one does little harm. The minimum keeps results in other words.
func Weight(lexical, dense []ScoredPassage) float64 {
	n := min(agreementDepth, len(lexical), len(dense))
	if n == 0 {
		return maxWeight
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
	return min(max(float64(both)/float64(n), minWeight), maxWeight)
}

// Fuse joins two rankings, the best first, then the smaller number. It stretches the
// scores of each to 0..1; a missing passage gets 0, so rankings should be some hundred
// deep. The dense one weighs weight, from 0 to 1, the lexical one the rest. If one is
// empty, the other counts alone. Of duplicates the best counts.
func Fuse(lexical, dense []ScoredPassage, weight float64) []ScoredPassage {
	weight = min(max(weight, 0), 1)
	switch {
	case len(dense) == 0:
		weight = 0
	case len(lexical) == 0:
		weight = 1
	}
	sum := make(map[int64]float64, len(lexical)+len(dense))
	for id, s := range normalizeScores(lexical) {
		sum[id] += (1 - weight) * s
	}
	for id, s := range normalizeScores(dense) {
		sum[id] += weight * s
	}
	out := make([]ScoredPassage, 0, len(sum))
	for id, s := range sum {
		out = append(out, ScoredPassage{id, s})
	}
	slices.SortFunc(out, compareScores)
	return out
}

func compareScores(a, b ScoredPassage) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Passage, b.Passage))
}

// normalizeScores turns equal scores into 1.
func normalizeScores(ranking []ScoredPassage) map[int64]float64 {
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
