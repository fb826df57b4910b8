package document

import "ponder/internal/textkit/ranking"

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
