package search

import (
	"cmp"
	"slices"
)

// damp is how little the first rank counts more than the second: the usual
// constant of reciprocal rank fusion. Scores of engines do not compare, ranks do.
const damp = 60

// fuse makes one list of those of several providers.
func fuse(of []Outcome, lists [][]Result, n int) []Result {
	answered := 0
	at := map[string]int{}
	var all []Result
	for i, list := range lists {
		if of[i].Err == nil && len(list) > 0 {
			answered++
		}
		rank := 0
		mine := map[string]bool{}
		for _, r := range list {
			key := sameness(r.URL)
			if mine[key] {
				continue
			}
			mine[key] = true
			rank++
			score := float64(damp+1) / float64(damp+rank)
			r.Score, r.Rank, r.Providers = score, rank, []string{of[i].Name}
			if j, ok := at[key]; ok {
				all[j] = merge(all[j], r)
				continue
			}
			at[key] = len(all)
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Rank, b.Rank))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Score /= float64(max(1, answered))
		all[i].Rank = i + 1
	}
	return all
}

// merge makes one result of two for the same page: each text is from the one that
// ranks it higher, if that has it.
func merge(a, b Result) Result {
	if b.Rank < a.Rank {
		a, b = b, a
	}
	a.Score += b.Score
	a.Providers = append(slices.Clone(a.Providers), b.Providers...)
	a.Title, a.Snippet = cmp.Or(a.Title, b.Title), cmp.Or(a.Snippet, b.Snippet)
	a.Summary, a.Author = cmp.Or(a.Summary, b.Summary), cmp.Or(a.Author, b.Author)
	if len(b.Text) > len(a.Text) {
		a.Text = b.Text
	}
	if len(a.Highlights) == 0 {
		a.Highlights = b.Highlights
	}
	if a.Published.IsZero() {
		a.Published = b.Published
	}
	if plainer(b.URL, a.URL) {
		a.URL = b.URL
	}
	return a
}
