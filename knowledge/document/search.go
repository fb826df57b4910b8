package document

import (
	"slices"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// SearchOptions configure a search. The zero value returns the best hits.
type SearchOptions struct {
	// Exclude lists hits by [Document.RangeID]. Near duplicates of them are excluded
	// too.
	Exclude []string

	// PerSource is the maximum number of hits per document; 0 means no limit.
	PerSource int

	// MinRelativeScore is the minimum score of a hit as a fraction of the best score, excluded
	// sentences included. 0 returns every match.
	MinRelativeScore float64

	// Diversity is the penalty for similarity to an earlier hit: 0 none, 1 puts
	// duplicates last.
	Diversity float64
}

// A Hit is a sentence that a search found.
type Hit struct {
	Document   *Document
	Sentence   int // index in Document.Sentences
	Start, End int // byte range in Document.Text
	Quote      string

	// Score is the match quality from 0 to 1, comparable between questions. It exceeds
	// 0.7 with every word of the question and is below 0.3 with few or common words. A
	// hit by context alone stays below 0.3 at any rank.
	Score float64

	// Terms are the matched words of the question, as the question spells them.
	Terms []string
}

// ID returns the hit's [Document.RangeID].
func (h Hit) ID() string { return h.Document.RangeID(h.Start, h.End) }

// Section returns the headings above the hit, or "".
func (h Hit) Section() string { return h.Document.Heading(h.Document.Sentences[h.Sentence].Section) }

// The size of a passage in bytes: 200 to 400 tokens.
const (
	minPassage = 800 // as far as the section has more
	maxPassage = 1200
)

// Passage returns the range of the text around the hit: its paragraph, and neighbouring
// sentences of the section while it has less than minPassage bytes. It consists of whole
// sentences.
func (h Hit) Passage() (start, end int) {
	d := h.Document
	first, last := h.Sentence, h.Sentence
	size := func() int { return d.Sentences[last].End - d.Sentences[first].Start }
	grow := func(allowed func(i int) bool) {
		for before, after := true, true; before || after; {
			if after = after && last+1 < len(d.Sentences) && allowed(last+1) && d.Sentences[last+1].End-d.Sentences[first].Start <= maxPassage; after {
				last++
			}
			if before = before && first > 0 && allowed(first-1) && d.Sentences[last].End-d.Sentences[first-1].Start <= maxPassage; before {
				first--
			}
		}
	}
	at := d.Sentences[h.Sentence]
	grow(func(i int) bool { return d.Sentences[i].block == at.block && d.Sentences[i].Section == at.Section })
	grow(func(i int) bool {
		return size() < minPassage && d.Sentences[i].Kind != Heading && d.Sentences[i].Section == at.Section
	})
	return d.Sentences[first].Start, d.Sentences[last].End
}

// Context returns the text of [Hit.Passage], or "" if it is only the hit.
func (h Hit) Context() string {
	if start, end := h.Passage(); start < h.Start || end > h.End {
		return h.Document.Text[start:end]
	}
	return ""
}

// Search returns the n sentences that best answer a question, best first. It returns
// one of near duplicates. Equal questions give equal hits.
func (c *Collection) Search(question string, n int, opts SearchOptions) []Hit {
	q := c.parseQuery(question)
	if n <= 0 || len(q.terms) == 0 || len(c.units) == 0 {
		return nil
	}
	t := c.tallyQuery(q)
	defer c.releaseTally(t)
	for size := max(100, 10*n+2*len(opts.Exclude)); ; size *= 8 {
		pool := c.bestUnits(t, size)
		s := selection{c: c, q: q, opts: opts, perDoc: map[int32]int{}, sums: map[uint32]bool{}}
		s.excludeHits()
		hits := s.pickHits(c.rankCandidates(q, pool), n)
		if len(hits) == n || len(pool) < size {
			return hits
		}
	}
}

type scoredUnit struct {
	unit  int32
	score float32
}

func isBetter(a, b scoredUnit) bool {
	return a.score > b.score || a.score == b.score && a.unit < b.unit
}

// bestUnits returns the best size units, unordered. It only visits passages with a term.
func (c *Collection) bestUnits(t *tally, size int) []scoredUnit {
	top := ranking.NewBest(size, func(a, b *scoredUnit) bool { return isBetter(*a, *b) })
	for p := range c.passages {
		if t.passages[p] == 0 {
			continue
		}
		end := int32(len(c.units))
		if p+1 < len(c.passages) {
			end = c.passages[p+1].first
		}
		for u := c.passages[p].first; u < end; u++ {
			if c.units[u].quality == 0 {
				continue
			}
			top.Add(scoredUnit{u, t.scoreUnit(c.index, u)})
		}
	}
	return top.Items()
}

type candidate struct {
	scoredUnit
	terms []int32 // sorted, unique, without stops

	checked    int     // number of taken candidates compared
	similarity float64 // maximum similarity to them
}

func (c *Collection) rankCandidates(q query, pool []scoredUnit) []candidate {
	out := make([]candidate, len(pool))
	for i, v := range pool {
		out[i] = c.newCandidate(q, v)
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		if isBetter(a.scoredUnit, b.scoredUnit) {
			return -1
		}
		return 1
	})
	return out
}

// newCandidate reads a unit's terms and adds the score of term pairs in question order.
func (c *Collection) newCandidate(q query, v scoredUnit) candidate {
	quote := c.unitQuote(v.unit)
	out := candidate{scoredUnit: v}
	var last int32 = -1
	pairs := map[[2]int32]bool{}
	lexical.Tokens(quote, func(t lexical.Token) {
		w, ok := c.vocab[quote[t.Start:t.End]]
		if !ok || w.stop && !q.hasTerm(w.term) {
			return
		}
		pair := [2]int32{last, w.term}
		if bonus := q.pairs[pair]; bonus > 0 && !pairs[pair] {
			pairs[pair] = true
			out.score += float32(bonus)
		}
		last = w.term
		out.terms = append(out.terms, w.term)
	})
	slices.Sort(out.terms)
	out.terms = slices.Compact(out.terms)
	if IsQuestion(quote) && c.isDuplicate(out.terms, q.ids) {
		out.score *= questionFactor
	}
	return out
}

func (c *Collection) unitQuote(u int32) string {
	doc := c.passages[c.units[u].passage].doc
	return c.docs[doc].Quote(int(u - c.docUnit[doc]))
}

// BM25 length normalization for sentences, passages and documents.
const (
	sentenceNorm = 0.5
	passageNorm  = 0.6
	documentNorm = 0.75
)

// Weights of a sentence's surroundings.
const (
	neighbourWeight = 0.3  // each adjacent sentence
	passageWeight   = 0.5  // its passage
	headingWeight   = 0.3  // its headings
	titleWeight     = 0.25 // document title
	documentWeight  = 0.2  // whole document
)

type queryTerm struct {
	id     int32 // -1: in no document
	word   string
	weight float64
	idf    float64
}

type tally struct {
	units, passages, sections, titles, docs []float32
	list                                    []ranking.Posting // of the current term
}

func newTally(x *index) *tally {
	return &tally{
		make([]float32, len(x.units)), make([]float32, len(x.passages)), make([]float32, len(x.sections)),
		make([]float32, len(x.docs)), make([]float32, len(x.docs)), nil,
	}
}

func (t *tally) reset() {
	clear(t.units)
	clear(t.passages)
	clear(t.sections)
	clear(t.titles)
	clear(t.docs)
}

// addTermScores adds the score of one term to all units that have it.
func (t *tally) addTermScores(x *index, q queryTerm) {
	l := &x.lists[q.id]
	scorer := func(df int32, n int, lean float64) ranking.Scorer {
		return ranking.NewScorer(q.weight*ranking.Rarity(float64(n), float64(df)), float64(x.words)/float64(n), lean)
	}
	sentence := scorer(l.units, len(x.units), sentenceNorm)
	within := scorer(l.passages, len(x.passages), passageNorm)
	whole := scorer(l.docs, len(x.docs), documentNorm)
	var p, d int32 = -1, -1
	var inP, inD float32
	t.list = l.appendPostings(t.list[:0], len(x.units))
	for _, k := range t.list {
		unit, freq := &x.units[k.At], float32(k.Freq)
		t.units[k.At] += sentence.Score(freq, float32(unit.words))
		if unit.passage != p {
			if p >= 0 {
				t.passages[p] += within.Score(inP, float32(x.passages[p].words))
			}
			p, inP = unit.passage, 0
			if doc := x.passages[p].doc; doc != d {
				if d >= 0 {
					t.docs[d] += whole.Score(inD, float32(x.docWords[d]))
				}
				d, inD = doc, 0
			}
		}
		inP += freq
		inD += freq
		if unit.kind == Heading {
			t.sections[x.passages[p].section] += float32(q.weight * q.idf)
		}
	}
	if p >= 0 {
		t.passages[p] += within.Score(inP, float32(x.passages[p].words))
		t.docs[d] += whole.Score(inD, float32(x.docWords[d]))
	}
	t.list = x.titles[q.id].appendPostings(t.list[:0], len(x.docs))
	for _, k := range t.list {
		t.titles[k.At] += float32(q.weight * q.idf)
	}
}

func (t *tally) addParentScores(x *index) {
	for s, up := range x.sections {
		if up >= 0 {
			t.sections[s] += t.sections[up] / 2
		}
	}
}

func (t *tally) scoreUnit(x *index, u int32) float32 {
	unit := x.units[u]
	p := x.passages[unit.passage]
	s := t.units[u] + passageWeight*t.passages[unit.passage] + titleWeight*t.titles[p.doc] + documentWeight*t.docs[p.doc]
	if u > x.docUnit[p.doc] {
		s += neighbourWeight * t.units[u-1]
	}
	if int(u)+1 < len(x.units) && x.passages[x.units[u+1].passage].doc == p.doc {
		s += neighbourWeight * t.units[u+1]
	}
	if p.section >= 0 {
		s += headingWeight * t.sections[p.section]
	}
	return s * float32(unit.quality) / 100
}
