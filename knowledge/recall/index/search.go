package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"

	"ponder/internal/textkit/ranking"
)

// Search returns the n best passages for a query, the best first. Whatever was
// committed before it began, here or by another process, is found.
func (x *Index) Search(ctx context.Context, q Query, n int) (hits []Hit, err error) {
	if n <= 0 {
		return nil, nil
	}
	err = x.reading(ctx, func(tx *sql.Tx, v *view) error {
		s := search{x: x, tx: tx, v: v, q: q, sieve: newSieve(q.Filter)}
		hits, err = s.run(ctx, n)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	return hits, nil
}

// A search is a query on its way.
type search struct {
	x         *Index
	tx        *sql.Tx
	v         *view
	q         Query
	sieve     *sieve
	groups    []*group
	corrected map[string]string
}

func (s *search) run(ctx context.Context, n int) ([]Hit, error) {
	s.groups = s.v.plan(s.q)
	if len(s.groups) == 0 || s.v.passages == 0 {
		return nil, nil
	}
	if err := s.x.fetchGroups(ctx, s.tx, s.v, s.groups); err != nil {
		return nil, err
	}
	if s.q.Typos {
		if err := s.correct(ctx); err != nil {
			return nil, err
		}
	}
	bd := s.x.newBoard(s.v)
	defer s.x.release(bd)
	bd.score(s.groups, 1)
	bd.require(s.groups)
	ideal := idealOf(s.groups)
	if s.q.Feedback {
		more, err := s.feedback(ctx, bd)
		if err != nil {
			return nil, err
		}
		factor := weightOf(s.groups) * (1 - feedbackKeep) / feedbackKeep
		bd.score(more, factor)
		ideal += factor * idealOf(more) / 2
	}
	bd.spread(s.q.Neighbours, s.q.Whole)
	top, err := s.choose(ctx, bd, n)
	if err != nil {
		return nil, err
	}
	return s.hits(top, ideal*(1+s.q.Whole)), nil
}

// choose returns the n best passages that have the phrases.
func (s *search) choose(ctx context.Context, bd *board, n int) ([]found, error) {
	if len(s.q.Phrases) == 0 {
		return bd.best(n, s.sieve), nil
	}
	return s.withPhrases(ctx, bd.best(maxPhraseChecks, s.sieve), n)
}

// idealOf returns the score of a passage of average length that has every word
// of a query once.
func idealOf(groups []*group) (sum float64) {
	for _, g := range groups {
		if !g.not {
			sum += g.weight * g.idf
		}
	}
	return sum
}

func weightOf(groups []*group) (sum float64) {
	for _, g := range groups {
		if !g.not {
			sum += g.weight
		}
	}
	return sum
}

// hits describes what was found.
func (s *search) hits(top []found, ideal float64) []Hit {
	out := make([]Hit, len(top))
	for i, f := range top {
		seg := s.v.segments[f.segment]
		out[i] = Hit{Doc: seg.docs[seg.docOf[f.at]].id, Passage: f.num, Score: float64(f.score),
			Relevance: relevance(float64(f.score), ideal), Corrected: s.corrected}
		for _, g := range s.groups {
			if !g.not && g.has(f) {
				out[i].Words = append(out[i].Words, g.words...)
			}
		}
	}
	return out
}

func (g *group) has(f found) bool {
	_, ok := slices.BinarySearchFunc(g.lists[f.segment], int32(f.at), func(p ranking.Posting, at int32) int { return int(p.At) - int(at) })
	return ok
}

// relevance returns what a score is from 0 to 1: see the package comment.
func relevance(score, ideal float64) float64 {
	if ideal <= 0 {
		return 0
	}
	return 1 - math.Exp(-score/ideal)
}
