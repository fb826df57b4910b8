package document

import "math"

// The constants of BM25: how soon more of a term counts no more, and how much
// the length of a text counts, for a sentence, a passage and a document.
const (
	saturation   = 1.2
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
}

func newTally(x *index) *tally {
	return &tally{
		make([]float32, len(x.units)), make([]float32, len(x.passages)), make([]float32, len(x.sections)),
		make([]float32, len(x.docs)), make([]float32, len(x.docs)),
	}
}

func (t *tally) clear() {
	clear(t.units)
	clear(t.passages)
	clear(t.sections)
	clear(t.titles)
	clear(t.docs)
}

// bm25 scores a frequency in a text of a length.
type bm25 struct{ idf, fixed, lean float32 }

func newBM25(weight, n, df, average, lean float64) bm25 {
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	return bm25{float32(weight * idf * (saturation + 1)), float32(saturation * (1 - lean)), float32(saturation * lean / max(average, 1))}
}

func (b bm25) score(freq, length int32) float32 {
	f := float32(freq)
	return b.idf * f / (f + b.fixed + b.lean*float32(length))
}

// count adds the score of one term to everything it is in.
func (t *tally) count(x *index, q queryTerm) {
	l := &x.lists[q.id]
	n := func(k int) float64 { return float64(k) }
	words := float64(x.words)
	sentence := newBM25(q.weight, n(len(x.units)), float64(l.units), words/n(len(x.units)), sentenceLean)
	within := newBM25(q.weight, n(len(x.passages)), float64(l.passages), words/n(len(x.passages)), passageLean)
	whole := newBM25(q.weight, n(len(x.docs)), float64(l.docs), words/n(len(x.docs)), documentLean)
	var p, d, inP, inD int32 = -1, -1, 0, 0
	l.each(func(u int32, freq uint8) {
		unit := &x.units[u]
		t.units[u] += sentence.score(int32(freq), int32(unit.words))
		if unit.passage != p {
			if p >= 0 {
				t.passages[p] += within.score(inP, x.passages[p].words)
			}
			p, inP = unit.passage, 0
			if doc := x.passages[p].doc; doc != d {
				if d >= 0 {
					t.docs[d] += whole.score(inD, x.docWords[d])
				}
				d, inD = doc, 0
			}
		}
		inP += int32(freq)
		inD += int32(freq)
		if unit.kind == Heading {
			t.sections[x.passages[p].section] += float32(q.weight * q.idf)
		}
	})
	if p >= 0 {
		t.passages[p] += within.score(inP, x.passages[p].words)
		t.docs[d] += whole.score(inD, x.docWords[d])
	}
	x.titles[q.id].each(func(d int32, _ uint8) { t.titles[d] += float32(q.weight * q.idf) })
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
