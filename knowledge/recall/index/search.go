package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
	"unique"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Search returns the n best passages, the best first. It sees all earlier commits of
// all processes.
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

func (s *search) choose(ctx context.Context, bd *board, n int) ([]found, error) {
	if len(s.q.Phrases) == 0 {
		return bd.best(n, s.sieve), nil
	}
	return s.withPhrases(ctx, bd.best(maxPhraseChecks, s.sieve), n)
}

// idealOf returns the score of a passage of average length with every word once.
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

func relevance(score, ideal float64) float64 {
	if ideal <= 0 {
		return 0
	}
	return 1 - math.Exp(-score/ideal)
}

const (
	feedbackPassages = 10
	feedbackTerms    = 10
	feedbackKeep     = 0.5 // share of the query's own words
	feedbackCommon   = 0.1 // terms in a greater share of passages are ignored
)

func (s *search) feedback(ctx context.Context, bd *board) ([]*group, error) {
	weights := map[string]float64{}
	for _, f := range bd.best(feedbackPassages, s.sieve) {
		seg := s.v.segments[f.segment]
		doc, lang, err := s.x.doc(ctx, s.tx, seg.docs[seg.docOf[f.at]].id, f.num)
		if errors.Is(err, ErrNone) {
			return nil, errDamaged
		}
		if err != nil {
			return nil, err
		}
		s.addTerms(weights, doc, lang, float64(f.score))
	}
	return s.expand(ctx, weights)
}

func (s *search) addTerms(weights map[string]float64, doc *Doc, lang lexical.Language, score float64) {
	a := newAnalyzer(s.x.readings)
	a.add(doc, lang)
	for _, e := range a.entries {
		term := a.terms[e.term]
		if n := utf8.RuneCountInString(term); isForm(term) || n < 2 || n > 20 || lexical.Stop(term, lang) {
			continue
		}
		weights[term] += score * float64(e.tf) / float64(max(1, a.lens[0]&maxLength))
	}
}

// expand returns the best terms as groups with a total weight of 1.
func (s *search) expand(ctx context.Context, weights map[string]float64) ([]*group, error) {
	type weighted struct {
		term   string
		weight float64
	}
	var list []weighted
	for term, w := range weights {
		list = append(list, weighted{term, w})
	}
	slices.SortFunc(list, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	most := max(10, feedbackCommon*float64(s.v.passages))
	n := 0
	for _, w := range list {
		if float64(s.v.df(w.term)) <= most {
			list[n] = w
			if n++; n == feedbackTerms {
				break
			}
		}
	}
	list = list[:n]
	sum := 0.0
	for _, w := range list {
		sum += w.weight
	}
	var out []*group
	for _, w := range list {
		out = append(out, &group{weight: w.weight / sum, terms: []groupTerm{{term: w.term}}})
	}
	return out, s.x.fetchGroups(ctx, s.tx, s.v, out)
}

// df counts removed passages too.
func (v *view) df(term string) (n int) {
	for _, s := range v.segments {
		if e, ok := s.terms.find(term); ok {
			n += e.df
		}
	}
	return n
}

type sieve struct {
	all      bool
	owner    *atom
	kinds    []atom
	sources  []string
	prefixes []string
	tags     []atom
	from, to int64
	dated    bool
	docs     map[int64]bool
}

func newSieve(f Filter) *sieve {
	s := &sieve{from: math.MinInt64, to: math.MaxInt64, kinds: atoms(f.Kinds), tags: atoms(f.Tags)}
	if f.Owner != "" {
		owner := unique.Make(f.Owner)
		s.owner = &owner
	}
	for _, source := range f.Sources {
		if prefix, ok := strings.CutSuffix(source, "*"); ok {
			s.prefixes = append(s.prefixes, prefix)
		} else {
			s.sources = append(s.sources, source)
		}
	}
	if !f.From.IsZero() {
		s.from, s.dated = f.From.UnixMicro(), true
	}
	if !f.To.IsZero() {
		s.to, s.dated = f.To.UnixMicro(), true
	}
	if len(f.Docs) > 0 {
		s.docs = map[int64]bool{}
		for _, id := range f.Docs {
			s.docs[id] = true
		}
	}
	s.all = s.owner == nil && len(s.kinds) == 0 && len(f.Sources) == 0 && len(s.tags) == 0 && !s.dated && s.docs == nil
	return s
}

func atoms(list []string) (out []atom) {
	for _, s := range list {
		out = append(out, unique.Make(s))
	}
	return out
}

func (s *sieve) keeps(d *docMeta) bool {
	switch {
	case s.all:
		return true
	case s.owner != nil && d.owner != *s.owner,
		len(s.kinds) > 0 && !slices.Contains(s.kinds, d.kind),
		s.dated && (d.date == 0 || d.date < s.from || d.date >= s.to),
		s.docs != nil && !s.docs[d.id]:
		return false
	}
	for _, t := range s.tags {
		if !slices.Contains(d.tags, t) {
			return false
		}
	}
	return s.source(d.source)
}

func (s *sieve) source(source string) bool {
	if len(s.sources) == 0 && len(s.prefixes) == 0 {
		return true
	}
	return slices.Contains(s.sources, source) ||
		slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(source, p) })
}

// Keep returns a snapshot of the passages that pass f, safe for concurrent use. It
// takes about 1 ms for 200,000 passages. On errors it keeps none.
func (x *Index) Keep(f Filter) func(passage int64) bool {
	var bits bitset
	err := x.reading(context.Background(), func(_ *sql.Tx, v *view) error {
		bits = v.keep(newSieve(f))
		return nil
	})
	if err != nil {
		return func(int64) bool { return false }
	}
	return func(num int64) bool { return num >= 0 && bits.has(int(num)) }
}

func (v *view) keep(s *sieve) bitset {
	last := int64(0)
	for _, g := range v.segments {
		for i := range g.docs {
			last = max(last, g.docs[i].first+int64(g.docs[i].n))
		}
	}
	bits := make(bitset, last/8+1)
	for _, g := range v.segments {
		for i := range g.docs {
			d := &g.docs[i]
			if g.dead.has(i) || !s.keeps(d) {
				continue
			}
			for num := d.first; num < d.first+int64(d.n); num++ {
				bits[num>>3] |= 1 << (num & 7)
			}
		}
	}
	return bits
}
