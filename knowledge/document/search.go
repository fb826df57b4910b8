package document

import (
	"slices"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// SearchOptions shape what a search returns. The zero value takes the best hits.
type SearchOptions struct {
	// Exclude has the places of hits that are not wanted again, see
	// [Document.Place]. What says nearly the same is not wanted either.
	Exclude []string

	// PerSource is the most hits of one document. Zero is no bound.
	PerSource int

	// Least is the least score of a hit, as a part of the best score that any
	// sentence has, an excluded one too: 0 takes all that has to do with it.
	Least float64

	// Diversity says how much a hit is pushed back by its likeness to one before
	// it: 0 not at all, 1 behind everything else if they are alike.
	Diversity float64
}

// A Hit is a sentence found.
type Hit struct {
	Document   *Document
	Sentence   int // index in the sentences of Document
	Start, End int // its place
	Quote      string

	// Score is how well the hit answers the question, from 0 to 1, and means the
	// same from one question to another: over 0.7 if the sentence has every
	// word of it, below 0.3 if it has few, or common ones. One that has none, and
	// is found for what it stands beside, scores below 0.3 wherever it comes.
	Score float64

	// Terms are the words of the question that the sentence has, as the question
	// writes them.
	Terms []string
}

// ID returns the place of the hit.
func (h Hit) ID() string { return h.Document.Place(h.Start, h.End) }

// Section returns the headings the hit stands under, or "".
func (h Hit) Section() string { return h.Document.Heading(h.Document.Sentences[h.Sentence].Section) }

// Around returns the sentences before and after the hit, or "" where it is the
// first or last of its section.
func (h Hit) Around() (before, after string) {
	return h.Document.near(h.Sentence, -1), h.Document.near(h.Sentence, 1)
}

// near returns a sentence beside the ith, if it is of the same section and no
// heading.
func (d *Document) near(i, step int) string {
	j := i + step
	if j < 0 || j >= len(d.Sentences) || d.Sentences[j].Kind == Heading || d.Sentences[j].Section != d.Sentences[i].Section {
		return ""
	}
	return d.Quote(j)
}

// Search returns the n sentences that answer a question best, the best first.
// Of sentences that say the same in nearly the same words, it returns one. The
// same question gives the same hits.
func (c *Collection) Search(question string, n int, opts SearchOptions) []Hit {
	q := c.parse(question)
	if n <= 0 || len(q.terms) == 0 || len(c.units) == 0 {
		return nil
	}
	t := c.tally(q)
	defer c.release(t)
	for size := max(100, 10*n+2*len(opts.Exclude)); ; size *= 8 {
		pool := c.best(t, size)
		s := selection{c: c, q: q, opts: opts, perDoc: map[int32]int{}, sums: map[uint32]bool{}}
		s.exclude()
		hits := s.take(c.candidates(q, pool), n)
		if len(hits) == n || len(pool) < size {
			return hits
		}
	}
}

// A scored is a unit with its score.
type scored struct {
	unit  int32
	score float32
}

// better orders by score, and then by place.
func better(a, b scored) bool { return a.score > b.score || a.score == b.score && a.unit < b.unit }

// best returns the best units, at most size, in no order. Units are looked at
// where a passage has a term.
func (c *Collection) best(t *tally, size int) []scored {
	top := ranking.NewBest(size, func(a, b *scored) bool { return better(*a, *b) })
	for p := range c.passages {
		if t.passages[p] == 0 {
			continue
		}
		end := int32(len(c.units))
		if p+1 < len(c.passages) {
			end = c.passages[p+1].first
		}
		for u := c.passages[p].first; u < end; u++ {
			if c.units[u].worth == 0 {
				continue
			}
			top.Add(scored{u, t.score(c.index, u)})
		}
	}
	return top.Items()
}

// A candidate is a unit that may become a hit.
type candidate struct {
	scored
	terms []int32 // sorted, each once, without stops

	checked int     // against how many of what is taken
	like    float64 // the most of them
}

// candidates returns what is looked at closely of a pool, the best first.
func (c *Collection) candidates(q query, pool []scored) []candidate {
	out := make([]candidate, len(pool))
	for i, v := range pool {
		out[i] = c.candidate(q, v)
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		if better(a.scored, b.scored) {
			return -1
		}
		return 1
	})
	return out
}

// candidate reads a unit again: its terms, and which of them stand together as
// they do in the question.
func (c *Collection) candidate(q query, v scored) candidate {
	quote := c.quote(v.unit)
	out := candidate{scored: v}
	var last int32 = -1
	pairs := map[[2]int32]bool{}
	lexical.Tokens(quote, func(t lexical.Token) {
		w, ok := c.vocab[quote[t.Start:t.End]]
		if !ok || w.stop && !q.has(w.term) {
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
	if Asks(quote) && c.alike(out.terms, q.ids) {
		out.score *= asked
	}
	return out
}

// quote returns the text of a unit.
func (c *Collection) quote(u int32) string {
	doc := c.passages[c.units[u].passage].doc
	return c.docs[doc].Quote(int(u - c.docUnit[doc]))
}

// How much the length of a text counts, for a sentence, a passage and a document.
const (
	sentenceLean = 0.5
	passageLean  = 0.6
	documentLean = 0.75
)

// What the surroundings of a sentence add to its own score.
const (
	neighbourWeight = 0.3  // each of the sentences before and after it
	passageWeight   = 0.5  // its passage
	headingWeight   = 0.3  // the headings it stands under
	titleWeight     = 0.25 // of the document
	documentWeight  = 0.2  // the whole document
)

// A queryTerm is a term of a question.
type queryTerm struct {
	id     int32 // -1 if no document has it
	word   string
	weight float64
	idf    float64
}

// A tally is the scores of one search.
type tally struct {
	units, passages, sections, titles, docs []float32
	list                                    []ranking.Posting // of the term that is counted
}

func newTally(x *index) *tally {
	return &tally{
		make([]float32, len(x.units)), make([]float32, len(x.passages)), make([]float32, len(x.sections)),
		make([]float32, len(x.docs)), make([]float32, len(x.docs)), nil,
	}
}

func (t *tally) clear() {
	clear(t.units)
	clear(t.passages)
	clear(t.sections)
	clear(t.titles)
	clear(t.docs)
}

// count adds the score of one term to everything it is in.
func (t *tally) count(x *index, q queryTerm) {
	l := &x.lists[q.id]
	scorer := func(df int32, n int, lean float64) ranking.Scorer {
		return ranking.NewScorer(q.weight*ranking.Rarity(float64(n), float64(df)), float64(x.words)/float64(n), lean)
	}
	sentence := scorer(l.units, len(x.units), sentenceLean)
	within := scorer(l.passages, len(x.passages), passageLean)
	whole := scorer(l.docs, len(x.docs), documentLean)
	var p, d int32 = -1, -1
	var inP, inD float32
	t.list = l.all(t.list[:0], len(x.units))
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
	t.list = x.titles[q.id].all(t.list[:0], len(x.docs))
	for _, k := range t.list {
		t.titles[k.At] += float32(q.weight * q.idf)
	}
}

// inherit gives sections what the sections above them have. A section comes
// after the one it is in.
func (t *tally) inherit(x *index) {
	for s, up := range x.sections {
		if up >= 0 {
			t.sections[s] += t.sections[up] / 2
		}
	}
}

// score returns the score of a unit with its surroundings.
func (t *tally) score(x *index, u int32) float32 {
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
	return s * float32(unit.worth) / 100
}
