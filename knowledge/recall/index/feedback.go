package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// What feedback (RM3) is tuned by.
const (
	feedbackPassages = 10
	feedbackTerms    = 10
	feedbackKeep     = 0.5 // share of the query's own words
	feedbackCommon   = 0.1 // a term that a greater share of passages has tells nothing
)

// feedback returns words that the best passages have in common.
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

// addTerms adds the terms of a passage by what they are worth.
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

// expand returns the best of the terms as groups whose weights are 1 together.
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

// df returns about how many passages have a term.
func (v *view) df(term string) (n int) {
	for _, s := range v.segments {
		if e, ok := s.terms.find(term); ok {
			n += e.df
		}
	}
	return n
}
