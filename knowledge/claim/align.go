package claim

import (
	"sort"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

// Credit of a word by its position, relative to the aligned sentence.
const (
	inNext    = 0.9  // the sentence before or after
	inContext = 0.8  // the heading or title
	inSecond  = 0.75 // two sentences away
	inQuote   = 0.55 // elsewhere in the quote
)

const maxWindows = 3

// A view is a claim with its matches in a corpus.
type view struct {
	*Corpus
	parsedSentence
	text        string
	stemMatches [][]stemMatch
	weights     []float64
	total       float64
	rows        map[int32][]float64 // by unit, the credit of each term
	names       []bool
	excluded    map[int]bool // units excluded from the best sentence
}

// A window is a sentence of a quote with its neighbours, and the credits of the
// claim's terms there.
type window struct {
	unit   int
	credit []float64
	own    float64 // share of the claim in the sentence itself
	cover  float64 // share including neighbours, context and quote
	cited  bool
	second bool // it supplies what the best window lacks
	rank   float64
}

func (c *Corpus) matchClaim(s Sentence) *view {
	text := textkit.Prefix(s.Text, maxSentence)
	lang := c.lang
	if lang == "" {
		lang, _ = lexical.Detect(text)
	}
	v := &view{Corpus: c, text: text, parsedSentence: readSentence(text, span{0, len(text)}, lang), rows: make(map[int32][]float64)}
	v.mergeTerms()
	for i, t := range v.terms {
		list := c.matchStems(t)
		w := c.termWeight(t, list)
		v.stemMatches = append(v.stemMatches, list)
		v.weights = append(v.weights, w)
		v.names = append(v.names, t.name || t.head && c.isHeadName(t, list))
		v.total += w
		for _, l := range list {
			for _, u := range c.postings[l.id] {
				row := v.rows[u]
				if row == nil {
					row = make([]float64, len(v.terms))
					v.rows[u] = row
				}
				row[i] = max(row[i], l.credit)
			}
		}
	}
	return v
}

const maxTerms = 80

func (v *view) mergeTerms() {
	at := make(map[string]int, len(v.terms))
	kept := v.terms[:0:0]
	for _, t := range v.terms {
		if i, ok := at[t.stem]; ok {
			kept[i].name = kept[i].name || t.name
			continue
		}
		at[t.stem] = len(kept)
		kept = append(kept, t)
	}
	v.terms = kept[:min(len(kept), maxTerms)]
}

// isHeadName reports whether the first word of a claim is a name: the quotes capitalize
// it, or lack it.
func (c *Corpus) isHeadName(t term, list []stemMatch) bool {
	if len(list) == 0 {
		return c.lang != "de" && !commonWords[t.fold]
	}
	return list[0].credit == 1 && c.names[t.fold]*2 > len(c.postings[list[0].id])
}

// findWindows returns the best place for a claim, and those with most of its missing
// words.
func (v *view) findWindows(cites []string) []window {
	named := make(map[string]bool, len(cites))
	for _, id := range cites {
		named[id] = true
	}
	all := v.rankWindows(named)
	if len(all) == 0 {
		return nil
	}
	chosen := all[:1:1]
	have := append([]float64(nil), all[0].credit...)
	for len(chosen) < maxWindows {
		best, gain := -1, 0.05*v.total
		for i := 1; i < len(all); i++ {
			sum := 0.0
			for k, x := range all[i].credit {
				if x >= 0.5 {
					sum += v.weights[k] * max(0, x-have[k])
				}
			}
			if sum > gain {
				best, gain = i, sum
			}
		}
		if best < 0 {
			break
		}
		chosen = append(chosen, all[best])
		chosen[len(chosen)-1].second = true
		for k, x := range all[best].credit {
			have[k] = max(have[k], x)
		}
	}
	return chosen
}

func (v *view) rankWindows(named map[string]bool) []window {
	const most = 60
	var list []window
	for u, row := range v.rows {
		if v.excluded[int(u)] {
			continue
		}
		list = append(list, window{unit: int(u), own: v.weightedShare(row)})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].own != list[j].own {
			return list[i].own > list[j].own
		}
		return list[i].unit < list[j].unit
	})
	list = list[:min(len(list), most)]
	elsewhere := make(map[int][]float64)
	for i := range list {
		w := &list[i]
		q := v.units[w.unit].quote
		if elsewhere[q] == nil {
			elsewhere[q] = v.quoteCredit(q)
		}
		v.addNearbyCredit(w, elsewhere[q])
		w.cited = named[v.quotes[q].ID]
		w.rank = w.cover + 0.35*w.own + 0.1*v.factShare(w)
		if w.cited {
			w.rank += 0.04
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].rank > list[j].rank })
	return list
}

func (v *view) weightedShare(credit []float64) float64 {
	sum := 0.0
	for i, x := range credit {
		sum += v.weights[i] * x
	}
	if v.total == 0 {
		return 0
	}
	return sum / v.total
}

func (v *view) quoteCredit(q int) []float64 {
	s := &v.quotes[q]
	credit := make([]float64, len(v.terms))
	for u := s.first; u < s.last; u++ {
		for i, x := range v.rows[int32(u)] {
			credit[i] = max(credit[i], inQuote*x)
		}
	}
	for i, list := range v.stemMatches {
		for _, l := range list {
			if s.stems[l.id] {
				credit[i] = max(credit[i], inContext*l.credit)
			}
		}
	}
	return credit
}

func (v *view) addNearbyCredit(w *window, whole []float64) {
	w.credit = append([]float64(nil), whole...)
	s := &v.quotes[v.units[w.unit].quote]
	for d := -2; d <= 2; d++ {
		u := w.unit + d
		if u < s.first || u >= s.last {
			continue
		}
		left := 1.0
		switch d {
		case -1, 1:
			left = inNext
		case -2, 2:
			left = inSecond
		}
		for i, x := range v.rows[int32(u)] {
			w.credit[i] = max(w.credit[i], left*x)
		}
	}
	w.cover = v.weightedShare(w.credit)
}

// factShare returns the share of the claim's figures and dates in or beside the window's
// sentence.
func (v *view) factShare(w *window) float64 {
	if len(v.figures)+len(v.days) == 0 {
		return 0
	}
	n := 0
	for _, f := range v.figures {
		if _, ok := v.findFigure(f, w, 1); ok >= roundedFit {
			n++
		}
	}
	for _, d := range v.days {
		if _, ok := v.findDay(d, w, 1); ok {
			n++
		}
	}
	return float64(n) / float64(len(v.figures)+len(v.days))
}

// eachNearbyUnit yields the units within far of a window's unit, nearest first.
func (v *view) eachNearbyUnit(w *window, far int, yield func(u *unit) bool) {
	s := &v.quotes[v.units[w.unit].quote]
	for d := 0; d <= far; d++ {
		if u := w.unit + d; u < s.last && !yield(&v.units[u]) {
			return
		}
		if u := w.unit - d; d > 0 && u >= s.first && !yield(&v.units[u]) {
			return
		}
	}
}
