package search

import (
	"cmp"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"unicode"

	"ponder/internal/textkit/ranking"
)

// rankWords ranks pages by BM25 with its usual constants. A word of a title counts
// as three.
func rankWords(pages []Page) func(query string, n int) []Hit {
	const lean, title = 0.75, 3
	type posting struct {
		page int
		tf   float32
	}
	postings := map[string][]posting{}
	lengths := make([]float64, len(pages))
	mean := 0.0
	for i, p := range pages {
		tf := map[string]float32{}
		for _, w := range words(p.Text) {
			tf[w]++
			lengths[i]++
		}
		for _, w := range words(p.Title) {
			tf[w] += title
		}
		for w, n := range tf {
			postings[w] = append(postings[w], posting{i, n})
		}
		mean += lengths[i] / float64(len(pages))
	}
	return func(query string, n int) []Hit {
		scores := map[int]float64{}
		for _, w := range unique(words(query)) {
			scorer := ranking.NewScorer(ranking.Rarity(float64(len(pages)), float64(len(postings[w]))), mean, lean)
			for _, p := range postings[w] {
				scores[p.page] += float64(scorer.Score(p.tf, float32(lengths[p.page])))
			}
		}
		hits := make([]Hit, 0, len(scores))
		for page, score := range scores {
			hits = append(hits, Hit{Page: page, Score: score})
		}
		slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Page, b.Page)) })
		return hits[:min(len(hits), n)]
	}
}

// words returns the words of a text in small letters, a final s left out.
func words(s string) []string {
	list := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for i, w := range list {
		if len(w) > 3 {
			list[i] = strings.TrimSuffix(w, "s")
		}
	}
	return list
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// snippet returns the paragraph of a text with the most words of a query, and the
// one after it while there is room.
func snippet(text, query string) string {
	const most = 500
	want := unique(words(query))
	paragraphs := strings.Split(text, "\n")
	best, score := 0, -1.0
	for i, p := range paragraphs {
		have := unique(words(textkit.Prefix(p, 4*most)))
		n := 0.0
		for _, w := range want {
			if _, ok := slices.BinarySearch(have, w); ok {
				n++
			}
		}
		if n -= 1 / float64(1+len(have)); n > score && strings.TrimSpace(p) != "" {
			best, score = i, n
		}
	}
	out := paragraphs[best]
	for _, p := range paragraphs[best+1:] {
		if len(out)+len(p) > most {
			break
		}
		out += " " + p
	}
	return textkit.PrefixLine(out, most)
}
