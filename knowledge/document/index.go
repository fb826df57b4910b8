package document

import (
	"math"
	"path/filepath"
	"strings"
	"unicode"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Bounds on a passage: adjacent sentences of one section.
const (
	passageUnits = 8
	passageWords = 120
)

// A postings is the encoded posting list of a term.
type postings struct {
	data []byte
	last int32 // number not yet in data, or -1
	freq uint8 // of last
	base int32 // base of the next difference

	units, passages, docs int32 // frequencies of the term
	inPassage, inDocument int32 // the newest with the term
}

// add counts an occurrence in number. Numbers must not decrease.
func (p *postings) add(number int32) {
	if p.last == number {
		p.freq = min(p.freq, math.MaxUint8-1) + 1
		return
	}
	p.flush()
	p.last, p.freq = number, 1
}

// flush encodes the open posting. More postings may follow.
func (p *postings) flush() {
	if p.last < 0 {
		return
	}
	p.data = ranking.AppendPosting(p.data, p.last-p.base, uint16(p.freq))
	p.base, p.last = p.last, -1
	p.units++
}

// appendPostings appends the decoded postings, with numbers below most, to out.
func (p *postings) appendPostings(out []ranking.Posting, limit int) []ranking.Posting {
	return ranking.AppendPostings(out, p.data, int(p.units), limit)
}

// An index has documents, numbered sentences and posting lists. It is immutable once
// sealed.
type index struct {
	docs     []*Document
	units    []unit
	passages []passage
	sections []int32 // parent of each section, or -1; numbered across documents
	docUnit  []int32 // first unit of each document
	docWords []int32
	words    int64

	vocab  map[string]word // by spelling
	terms  map[string]int32
	lists  []postings // units by term
	titles []postings // documents by title term

	numeric []bool           // by term: it has a digit
	hashes  map[string]int32 // documents by hash prefix
}

type word struct {
	term int32
	stop bool
}

type unit struct {
	passage int32
	words   uint16
	kind    Kind
	quality uint8  // quality as a quote, percent
	sum     uint32 // hash of the terms; equal for equal sentences
}

type passage struct {
	doc, section int32 // section is -1 before the first heading
	words        int32
	first        int32 // first unit
}

type builder struct{ *index }

func newBuilder() *builder {
	return &builder{&index{vocab: map[string]word{}, terms: map[string]int32{}, hashes: map[string]int32{}}}
}

func (b *builder) addDocument(d *Document) {
	doc, above := int32(len(b.docs)), int32(len(b.sections))
	b.docs = append(b.docs, d)
	b.docUnit = append(b.docUnit, int32(len(b.units)))
	b.docWords = append(b.docWords, 0)
	b.hashes[d.Hash[:rangeHashLen]] = doc
	for _, s := range d.Sections {
		b.sections = append(b.sections, globalSection(above, s.Parent))
	}
	for i := range d.Sentences {
		b.addUnit(d, doc, i, globalSection(above, d.Sentences[i].Section))
	}
	b.addTitle(d, doc)
}

func globalSection(above int32, section int) int32 {
	if section < 0 {
		return -1
	}
	return above + int32(section)
}

func (b *builder) addUnit(d *Document, doc int32, i int, section int32) {
	s, quote := d.Sentences[i], d.Quote(i)
	n := int32(len(b.units))
	p := b.passageFor(d, doc, i, section)
	wide := false
	count, content, size, sum := 0, 0, 0, uint32(2166136261)
	lexical.Tokens(quote, func(t lexical.Token) {
		w := b.internWord(quote[t.Start:t.End])
		b.countTerm(w.term, n, p, doc)
		count++
		size += t.End - t.Start
		wide = wide || quote[t.Start] >= 0xe2
		if !w.stop {
			content++
			sum = (sum ^ uint32(w.term)) * 16777619
		}
	})
	if wide {
		lexical.Singles(quote, func(t lexical.Token) { b.countTerm(b.internWord(quote[t.Start:t.End]).term, n, p, doc) })
	}
	b.units = append(b.units, unit{p, uint16(min(count, math.MaxUint16)), s.Kind, quoteQuality(s.Kind, quote, content, size+count), sum})
	b.passages[p].words += int32(count)
	b.docWords[doc] += int32(count)
	b.words += int64(count)
}

func (b *builder) passageFor(d *Document, doc int32, i int, section int32) int32 {
	last := int32(len(b.passages)) - 1
	if last >= 0 {
		p, n := b.passages[last], int32(len(b.units))
		full := n-p.first >= passageUnits || p.words >= passageWords
		half := p.words >= passageWords/2 && i > 0 && d.Sentences[i].block != d.Sentences[i-1].block && d.Sentences[i].Kind == Prose
		if p.doc == doc && p.section == section && !full && !half {
			return last
		}
	}
	b.passages = append(b.passages, passage{doc: doc, section: section, first: int32(len(b.units))})
	return last + 1
}

func (b *builder) internWord(text string) word {
	if w, ok := b.vocab[text]; ok {
		return w
	}
	t := indexTerm(text)
	id, ok := b.terms[t]
	if !ok {
		id = int32(len(b.lists))
		b.terms[t] = id
		b.lists = append(b.lists, postings{last: -1, inPassage: -1, inDocument: -1})
		b.titles = append(b.titles, postings{last: -1})
		b.numeric = append(b.numeric, strings.ContainsFunc(t, unicode.IsDigit))
	}
	w := word{id, isStopWord(text)}
	b.vocab[text] = w
	return w
}

// isStopWord reports whether a word is a stop word. An all-capital form may be a name:
// "IT".
func isStopWord(w string) bool {
	return stopWords[strings.ToLower(w)] && (len(w) == 1 || w != strings.ToUpper(w))
}

func (b *builder) countTerm(id, unit, passage, doc int32) {
	l := &b.lists[id]
	l.add(unit)
	if l.inPassage != passage {
		l.inPassage = passage
		l.passages++
	}
	if l.inDocument != doc {
		l.inDocument = doc
		l.docs++
	}
}

func (b *builder) addTitle(d *Document, doc int32) {
	base := filepath.Base(d.Source)
	name := d.Title + " " + strings.TrimSuffix(base, filepath.Ext(base)) + " " + filepath.Base(filepath.Dir(d.Source))
	lexical.Tokens(name, func(t lexical.Token) { b.titles[b.internWord(name[t.Start:t.End]).term].add(doc) })
}

func (b *builder) buildIndex() *index {
	for i := range b.lists {
		b.lists[i].flush()
		b.titles[i].flush()
	}
	return b.index
}

// quoteQuality returns the quality of a sentence as a quote in percent, from its content
// words and the bytes in words. Headings and code get 0.
func quoteQuality(k Kind, quote string, content, size int) uint8 {
	w := 100
	switch {
	case k == Heading || k == Code || content == 0:
		return 0
	case content < 3:
		w = 40
	case content < 5:
		w = 75
	}
	if IsQuestion(quote) {
		w = w * 75 / 100
	}
	if size < len(quote)*4/5 {
		w = w * 60 / 100 // many signs
	}
	return uint8(w)
}
