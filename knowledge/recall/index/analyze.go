package index

import (
	"math"

	"ponder/internal/textkit/lexical"
)

// What a word counts by where it stands, as if it were said so often.
const (
	bodyWeight    = 1
	titleWeight   = 1
	nameWeight    = 1
	headingWeight = 1
)

// The length of a passage is a number of words, with a bit for what somebody
// says.
const (
	maxLength = spoken - 1
	spoken    = 1 << 15
)

// An analyzer takes documents apart into terms. It is not safe for concurrent
// use.
type analyzer struct {
	terms   []string // by number
	written []bool   // whether a term is a word as somebody wrote it
	entries []entry  // in order of passages
	lens    []uint16 // of each passage

	readings *readings
	numbers  map[string]int32
	last     []int32 // of each term, its newest entry
	known    map[lexical.Language]map[string]word
}

// An entry is a term in a passage.
type entry struct {
	term, passage int32
	tf            uint16
}

// A word is what is known of one: its stem, its form if that is another term or
// -1, and whether it says nothing of a subject.
type word struct {
	stem, form int32
	stop       bool
}

func newAnalyzer(r *readings) *analyzer {
	return &analyzer{readings: r, numbers: map[string]int32{}, known: map[lexical.Language]map[string]word{}}
}

// add appends the passages of a document.
func (a *analyzer) add(d *Doc, lang lexical.Language) {
	known := a.known[lang]
	if known == nil {
		known = map[string]word{}
		a.known[lang] = known
	}
	for i := range d.Passages {
		p := &d.Passages[i]
		f := fields{a, lang, known, int32(len(a.lens)), 0}
		f.add(p.Text, bodyWeight)
		f.add(d.Title, titleWeight)
		f.add(p.Heading, headingWeight)
		f.add(p.Speaker, nameWeight)
		for _, name := range d.Names {
			if name != p.Speaker {
				f.add(name, nameWeight)
			}
		}
		n := uint16(min(f.n, maxLength))
		if p.Speaker != "" {
			n |= spoken
		}
		a.lens = append(a.lens, n)
	}
}

// fields are what is read of a passage.
type fields struct {
	*analyzer
	lang    lexical.Language
	known   map[string]word
	passage int32
	n       int // words so far
}

func (f *fields) add(text string, weight uint16) {
	wide := false
	lexical.Tokens(text, func(t lexical.Token) {
		w := f.word(text[t.Start:t.End])
		f.count(w.stem, weight)
		if w.form >= 0 {
			f.count(w.form, weight)
		}
		if !w.stop {
			f.n += int(weight)
		}
		wide = wide || text[t.Start] >= 0xe2
	})
	if wide {
		lexical.Singles(text, func(t lexical.Token) { f.count(f.number(lexical.Fold(text[t.Start:t.End])), weight) })
	}
}

// count counts a term in the passage.
func (f *fields) count(term int32, weight uint16) {
	if i := f.last[term]; i >= 0 && f.entries[i].passage == f.passage {
		f.entries[i].tf = min(f.entries[i].tf+weight, math.MaxUint8)
		return
	}
	f.last[term] = int32(len(f.entries))
	f.entries = append(f.entries, entry{term, f.passage, weight})
}

// word returns what is known of a word, which may be new.
func (f *fields) word(text string) word {
	if w, ok := f.known[text]; ok {
		return w
	}
	r := f.readings.read(text, f.lang)
	w := word{stem: f.number(r.stem), form: -1, stop: r.stop}
	if r.form == "" {
		f.written[w.stem] = true
	} else {
		w.form = f.number(r.form)
		f.written[w.form] = true
	}
	f.known[text] = w
	return w
}

// stemOf returns the stem of a word.
func stemOf(word string, lang lexical.Language) string {
	if lang == undetermined {
		lang = ""
	}
	return lexical.Stem(word, lang)
}

// number returns the number of a term, which may be new.
func (a *analyzer) number(term string) int32 {
	n, ok := a.numbers[term]
	if !ok {
		n = int32(len(a.terms))
		a.numbers[term] = n
		a.terms = append(a.terms, term)
		a.written = append(a.written, false)
		a.last = append(a.last, -1)
	}
	return n
}
