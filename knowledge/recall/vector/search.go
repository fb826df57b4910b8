package vector

import (
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
