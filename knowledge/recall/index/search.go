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
	err = x.readView(ctx, func(tx *sql.Tx, v *view) error {
		s := search{x: x, tx: tx, v: v, q: q, filter: newDocFilter(q.Filter)}
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
	filter    *docFilter
	groups    []*group
	corrected map[string]string
}

func (s *search) run(ctx context.Context, n int) ([]Hit, error) {
	s.groups = s.v.planGroups(s.q)
	if len(s.groups) == 0 || s.v.passages == 0 {
		return nil, nil
	}
	if err := s.x.fetchGroups(ctx, s.tx, s.v, s.groups); err != nil {
		return nil, err
	}
	if s.q.Typos {
		if err := s.correctTypos(ctx); err != nil {
			return nil, err
		}
	}
	bd := s.x.newScoreboard(s.v)
	defer s.x.releaseScores(bd)
	bd.addScores(s.groups, 1)
	bd.countRequired(s.groups)
	ideal := idealScore(s.groups)
	if s.q.Feedback {
		more, err := s.feedbackGroups(ctx, bd)
		if err != nil {
			return nil, err
		}
		factor := totalWeight(s.groups) * (1 - feedbackKeep) / feedbackKeep
		bd.addScores(more, factor)
		ideal += factor * idealScore(more) / 2
	}
	bd.spreadScores(s.q.Neighbours, s.q.Whole)
	top, err := s.chooseTop(ctx, bd, n)
	if err != nil {
		return nil, err
	}
	return s.newHits(top, ideal*(1+s.q.Whole)), nil
}

func (s *search) chooseTop(ctx context.Context, bd *scoreboard, n int) ([]foundPassage, error) {
	if len(s.q.Phrases) == 0 {
		return bd.topPassages(n, s.filter), nil
	}
	return s.filterPhrases(ctx, bd.topPassages(maxPhraseChecks, s.filter), n)
}

// idealScore returns the score of a passage of average length with every word once.
func idealScore(groups []*group) (sum float64) {
	for _, g := range groups {
		if !g.not {
			sum += g.weight * g.idf
		}
	}
	return sum
}

func totalWeight(groups []*group) (sum float64) {
	for _, g := range groups {
		if !g.not {
			sum += g.weight
		}
	}
	return sum
}

func (s *search) newHits(top []foundPassage, ideal float64) []Hit {
	out := make([]Hit, len(top))
	for i, f := range top {
		seg := s.v.segments[f.segment]
		out[i] = Hit{Doc: seg.docs[seg.docOf[f.at]].id, Passage: f.num, Score: float64(f.score),
			Relevance: scoreRelevance(float64(f.score), ideal), Corrected: s.corrected}
		for _, g := range s.groups {
			if !g.not && g.hasPassage(f) {
				out[i].Words = append(out[i].Words, g.words...)
			}
		}
	}
	return out
}

func (g *group) hasPassage(f foundPassage) bool {
	_, ok := slices.BinarySearchFunc(g.lists[f.segment], int32(f.at), func(p ranking.Posting, at int32) int { return int(p.At) - int(at) })
	return ok
}

func scoreRelevance(score, ideal float64) float64 {
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

func (s *search) feedbackGroups(ctx context.Context, bd *scoreboard) ([]*group, error) {
	weights := map[string]float64{}
	for _, f := range bd.topPassages(feedbackPassages, s.filter) {
		seg := s.v.segments[f.segment]
		doc, lang, err := s.x.readDoc(ctx, s.tx, seg.docs[seg.docOf[f.at]].id, f.num)
		if errors.Is(err, ErrNone) {
			return nil, errDamaged
		}
		if err != nil {
			return nil, err
		}
		s.addTerms(weights, doc, lang, float64(f.score))
	}
	return s.expandTerms(ctx, weights)
}

func (s *search) addTerms(weights map[string]float64, doc *Doc, lang lexical.Language, score float64) {
	a := newAnalyzer(s.x.forms)
	a.addDoc(doc, lang)
	for _, e := range a.entries {
		term := a.terms[e.term]
		if n := utf8.RuneCountInString(term); isForm(term) || n < 2 || n > 20 || lexical.Stop(term, lang) {
			continue
		}
		weights[term] += score * float64(e.tf) / float64(max(1, a.lens[0]&maxLength))
	}
}

// expandTerms returns the best terms as groups with a total weight of 1.
func (s *search) expandTerms(ctx context.Context, weights map[string]float64) ([]*group, error) {
	type weightedTerm struct {
		term   string
		weight float64
	}
	var list []weightedTerm
	for term, w := range weights {
		list = append(list, weightedTerm{term, w})
	}
	slices.SortFunc(list, func(a, b weightedTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.term, b.term))
	})
	maxPassages := max(10, feedbackCommon*float64(s.v.passages))
	n := 0
	for _, w := range list {
		if float64(s.v.countTermPassages(w.term)) <= maxPassages {
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

// countTermPassages counts removed passages too.
func (v *view) countTermPassages(term string) (n int) {
	for _, s := range v.segments {
		if e, ok := s.terms.findTerm(term); ok {
			n += e.df
		}
	}
	return n
}

type docFilter struct {
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

func newDocFilter(f Filter) *docFilter {
	s := &docFilter{from: math.MinInt64, to: math.MaxInt64, kinds: internAll(f.Kinds), tags: internAll(f.Tags)}
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

func internAll(list []string) (out []atom) {
	for _, s := range list {
		out = append(out, unique.Make(s))
	}
	return out
}

func (s *docFilter) matchesDoc(d *docMeta) bool {
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
	return s.matchesSource(d.source)
}

func (s *docFilter) matchesSource(source string) bool {
	if len(s.sources) == 0 && len(s.prefixes) == 0 {
		return true
	}
	return slices.Contains(s.sources, source) ||
		slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(source, p) })
}

// FilterPassages returns a snapshot of the passages that pass f, safe for concurrent use. It
// takes about 1 ms for 200,000 passages. On errors it keeps none.
func (x *Index) FilterPassages(f Filter) func(passage int64) bool {
	var bits bitset
	err := x.readView(context.Background(), func(_ *sql.Tx, v *view) error {
		bits = v.matchingPassages(newDocFilter(f))
		return nil
	})
	if err != nil {
		return func(int64) bool { return false }
	}
	return func(num int64) bool { return num >= 0 && bits.isSet(int(num)) }
}

func (v *view) matchingPassages(s *docFilter) bitset {
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
			if g.dead.isSet(i) || !s.matchesDoc(d) {
				continue
			}
			for num := d.first; num < d.first+int64(d.n); num++ {
				bits[num>>3] |= 1 << (num & 7)
			}
		}
	}
	return bits
}
