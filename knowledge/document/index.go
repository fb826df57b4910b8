package document

import (
	"math"
	"path/filepath"
	"strings"
	"unicode"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Bounds on a passage, which is sentences that follow each other in a section.
const (
	passageUnits = 8
	passageWords = 120
)

// postings are the numbers that a term is in, in their stored form.
type postings struct {
	data []byte
	last int32 // the number that is not yet in data, or -1
	freq uint8 // of last
	base int32 // what the next difference is from

	units, passages, docs int32 // in how many the term is
	inPassage, inDocument int32 // the newest of them
}

// add counts the term once more in number, which never falls.
func (p *postings) add(number int32) {
	if p.last == number {
		p.freq = min(p.freq, math.MaxUint8-1) + 1
		return
	}
	p.flush()
	p.last, p.freq = number, 1
}

// flush writes what add has gathered. The list may go on.
func (p *postings) flush() {
	if p.last < 0 {
		return
	}
	p.data = ranking.AppendPosting(p.data, p.last-p.base, uint16(p.freq))
	p.base, p.last = p.last, -1
	p.units++
}

// all appends the postings to out. They are of fewer than most numbers.
func (p *postings) all(out []ranking.Posting, most int) []ranking.Posting {
	return ranking.AppendPostings(out, p.data, int(p.units), most)
}

// An index is documents, numbered sentence by sentence, and where their terms
// are. It does not change once it is sealed.
type index struct {
	docs     []*Document
	units    []unit
	passages []passage
	sections []int32 // the section above each, or -1; numbered through all documents
	docUnit  []int32 // the first unit of each document
	docWords []int32
	words    int64

	vocab  map[string]word // by the word as it is written
	terms  map[string]int32
	lists  []postings // by term: units
	titles []postings // by term: documents with the term in their title or name

	numeric []bool           // by term: it has a digit
	hashes  map[string]int32 // of documents, by the beginning of their hash
}

// A word is what an index knows of a word as it is written.
type word struct {
	term int32
	stop bool
}

// A unit is a sentence in an index.
type unit struct {
	passage int32
	words   uint16
	kind    Kind
	worth   uint8  // how good a quote it is, in percent
	sum     uint32 // of its terms: equal for sentences that say the same
}

type passage struct {
	doc, section int32 // section is -1 before the first heading
	words        int32
	first        int32 // unit
}

// builder makes an index, document after document.
type builder struct{ *index }

func newBuilder() *builder {
	return &builder{&index{vocab: map[string]word{}, terms: map[string]int32{}, hashes: map[string]int32{}}}
}

func (b *builder) add(d *Document) {
	doc, above := int32(len(b.docs)), int32(len(b.sections))
	b.docs = append(b.docs, d)
	b.docUnit = append(b.docUnit, int32(len(b.units)))
	b.docWords = append(b.docWords, 0)
	b.hashes[d.Hash[:placeHash]] = doc
	for _, s := range d.Sections {
		b.sections = append(b.sections, globalSection(above, s.Parent))
	}
	for i := range d.Sentences {
		b.unit(d, doc, i, globalSection(above, d.Sentences[i].Section))
	}
	b.title(d, doc)
}

func globalSection(above int32, section int) int32 {
	if section < 0 {
		return -1
	}
	return above + int32(section)
}

// unit appends the ith sentence of a document.
func (b *builder) unit(d *Document, doc int32, i int, section int32) {
	s, quote := d.Sentences[i], d.Quote(i)
	n := int32(len(b.units))
	p := b.passage(d, doc, i, section)
	wide := false
	count, content, size, sum := 0, 0, 0, uint32(2166136261)
	lexical.Tokens(quote, func(t lexical.Token) {
		w := b.word(quote[t.Start:t.End])
		b.count(w.term, n, p, doc)
		count++
		size += t.End - t.Start
		wide = wide || quote[t.Start] >= 0xe2
		if !w.stop {
			content++
			sum = (sum ^ uint32(w.term)) * 16777619
		}
	})
	if wide {
		lexical.Singles(quote, func(t lexical.Token) { b.count(b.word(quote[t.Start:t.End]).term, n, p, doc) })
	}
	b.units = append(b.units, unit{p, uint16(min(count, math.MaxUint16)), s.Kind, worth(s.Kind, quote, content, size+count), sum})
	b.passages[p].words += int32(count)
	b.docWords[doc] += int32(count)
	b.words += int64(count)
}

// passage returns the passage of the ith sentence: the open one, or a new one.
func (b *builder) passage(d *Document, doc int32, i int, section int32) int32 {
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

// word returns what is known of a word, which may be new.
func (b *builder) word(text string) word {
	if w, ok := b.vocab[text]; ok {
		return w
	}
	t := term(text)
	id, ok := b.terms[t]
	if !ok {
		id = int32(len(b.lists))
		b.terms[t] = id
		b.lists = append(b.lists, postings{last: -1, inPassage: -1, inDocument: -1})
		b.titles = append(b.titles, postings{last: -1})
		b.numeric = append(b.numeric, strings.ContainsFunc(t, unicode.IsDigit))
	}
	w := word{id, stopped(text)}
	b.vocab[text] = w
	return w
}

// stopped reports whether a word says nothing of a subject. One in capitals may
// be a name: "IT".
func stopped(w string) bool {
	return stops[strings.ToLower(w)] && (len(w) == 1 || w != strings.ToUpper(w))
}

func (b *builder) count(id, unit, passage, doc int32) {
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

// title indexes what a document is called: its title, its name and that of its
// folder.
func (b *builder) title(d *Document, doc int32) {
	base := filepath.Base(d.Source)
	name := d.Title + " " + strings.TrimSuffix(base, filepath.Ext(base)) + " " + filepath.Base(filepath.Dir(d.Source))
	lexical.Tokens(name, func(t lexical.Token) { b.titles[b.word(name[t.Start:t.End]).term].add(doc) })
}

func (b *builder) seal() *index {
	for i := range b.lists {
		b.lists[i].flush()
		b.titles[i].flush()
	}
	return b.index
}

// worth says how good a quote a sentence is, in percent, that has so many words
// of content and so many bytes in words. Headings and code are never quoted.
func worth(k Kind, quote string, content, size int) uint8 {
	w := 100
	switch {
	case k == Heading || k == Code || content == 0:
		return 0
	case content < 3:
		w = 40
	case content < 5:
		w = 75
	}
	if Asks(quote) {
		w = w * 75 / 100
	}
	if size < len(quote)*4/5 {
		w = w * 60 / 100 // more signs than in a text
	}
	return uint8(w)
}
