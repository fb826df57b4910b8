package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"unique"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Occurrences that a word in each field counts for.
const (
	bodyWeight    = 1
	titleWeight   = 1
	nameWeight    = 1
	headingWeight = 1
)

// A passage's length is its number of words; a bit marks speech.
const (
	maxLength = spoken - 1
	spoken    = 1 << 15
)

// An analyzer splits documents into terms. It is not safe for concurrent use.
type analyzer struct {
	terms   []string
	written []bool // some passage has the term unstemmed
	entries []entry
	lens    []uint16

	forms   *formCache
	numbers map[string]int32
	last    []int32 // newest entry of each term
	known   map[lexical.Language]map[string]word
}

// An entry is a term in a passage.
type entry struct {
	term, passage int32
	tf            uint16
}

// A word has its stem, its unstemmed form (-1 if equal), and whether it is a stop word.
type word struct {
	stem, form int32
	stop       bool
}

func newAnalyzer(r *formCache) *analyzer {
	return &analyzer{forms: r, numbers: map[string]int32{}, known: map[lexical.Language]map[string]word{}}
}

func (a *analyzer) addDoc(d *Doc, lang lexical.Language) {
	known := a.known[lang]
	if known == nil {
		known = map[string]word{}
		a.known[lang] = known
	}
	for i := range d.Passages {
		p := &d.Passages[i]
		f := passageFields{a, lang, known, int32(len(a.lens)), 0}
		f.addText(p.Text, bodyWeight)
		f.addText(d.Title, titleWeight)
		f.addText(p.Heading, headingWeight)
		f.addText(p.Speaker, nameWeight)
		for _, name := range d.Names {
			if name != p.Speaker {
				f.addText(name, nameWeight)
			}
		}
		n := uint16(min(f.n, maxLength))
		if p.Speaker != "" {
			n |= spoken
		}
		a.lens = append(a.lens, n)
	}
}

type passageFields struct {
	*analyzer
	lang    lexical.Language
	known   map[string]word
	passage int32
	n       int
}

func (f *passageFields) addText(text string, weight uint16) {
	wide := false
	lexical.Tokens(text, func(t lexical.Token) {
		w := f.analyzeWord(text[t.Start:t.End])
		f.countTerm(w.stem, weight)
		if w.form >= 0 {
			f.countTerm(w.form, weight)
		}
		if !w.stop {
			f.n += int(weight)
		}
		wide = wide || text[t.Start] >= 0xe2
	})
	if wide {
		lexical.Singles(text, func(t lexical.Token) { f.countTerm(f.termNumber(lexical.Fold(text[t.Start:t.End])), weight) })
	}
}

func (f *passageFields) countTerm(term int32, weight uint16) {
	if i := f.last[term]; i >= 0 && f.entries[i].passage == f.passage {
		f.entries[i].tf = min(f.entries[i].tf+weight, math.MaxUint8)
		return
	}
	f.last[term] = int32(len(f.entries))
	f.entries = append(f.entries, entry{term, f.passage, weight})
}

func (f *passageFields) analyzeWord(text string) word {
	if w, ok := f.known[text]; ok {
		return w
	}
	r := f.forms.findForms(text, f.lang)
	w := word{stem: f.termNumber(r.stem), form: -1, stop: r.stop}
	if r.form == "" {
		f.written[w.stem] = true
	} else {
		w.form = f.termNumber(r.form)
		f.written[w.form] = true
	}
	f.known[text] = w
	return w
}

func stemWord(word string, lang lexical.Language) string {
	if lang == undetermined {
		lang = ""
	}
	return lexical.Stem(word, lang)
}

func (a *analyzer) termNumber(term string) int32 {
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

// maxLanguages is the number of bits in a language mask.
const maxLanguages = 32

// languages lists the stemmed languages, then "und" for all others. The order is that
// of the language masks.
var languages = append(lexical.Languages(), undetermined)

const (
	undetermined lexical.Language = "und"
	english      lexical.Language = "en"
)

func languageNumber(code string) uint8 {
	i := slices.Index(languages, lexical.Language(code))
	if i < 0 {
		i = len(languages) - 1
	}
	return uint8(i)
}

func stemLanguage(d *Doc) lexical.Language {
	lang := d.Language
	if lang == "" {
		lang, _ = lexical.Detect(sampleText(d))
	}
	switch {
	case lang == "":
		return english
	case slices.Contains(languages, lang):
		return lang
	}
	return undetermined
}

// maxSample limits the bytes for language detection.
const maxSample = 1 << 10

func sampleText(d *Doc) string {
	var b []byte
	for i := 0; i < len(d.Passages) && len(b) < maxSample; i++ {
		b = append(append(b, d.Passages[i].Text...), '\n')
	}
	if len(b) < maxSample {
		b = append(b, d.Title...)
	}
	return string(b[:min(len(b), maxSample)])
}

// A Batch is a prepared segment. It can be added again after a rollback.
type Batch struct {
	docs     []Doc
	langs    []lexical.Language
	meta     []byte
	pages    [][]byte // of terms
	postings []byte
	passages int
	err      error
}

func (b Batch) Passages() int { return b.passages }

// Prepare does the work that needs no transaction: about 50 µs per passage of 100
// words. Do not change docs until the batch is added. AddBatch returns the errors.
func (x *Index) Prepare(docs []Doc) Batch {
	b := Batch{docs: docs, langs: make([]lexical.Language, len(docs))}
	a := newAnalyzer(x.forms)
	metas := make([]docMeta, len(docs))
	for i := range docs {
		runtime.Gosched() // let searches run
		d := &docs[i]
		if d.ID <= 0 {
			b.err = fmt.Errorf("invalid document ID %d", d.ID)
			return b
		}
		b.langs[i] = stemLanguage(d)
		at := len(a.lens)
		a.addDoc(d, b.langs[i])
		metas[i] = newMeta(d, b.langs[i], int64(at))
		before := (*docMeta)(nil)
		if i > 0 {
			before = &metas[i-1]
		}
		b.meta = appendMeta(b.meta, &metas[i], before, a.lens[at:])
	}
	b.passages = len(a.lens)
	b.err = b.invertEntries(a)
	return b
}

func newMeta(d *Doc, lang lexical.Language, first int64) docMeta {
	m := docMeta{id: d.ID, first: first, date: toMicros(d.Date), lang: languageNumber(string(lang)), source: d.Source,
		owner: unique.Make(d.Owner), kind: unique.Make(d.Kind)}
	for _, t := range d.Tags {
		m.tags = append(m.tags, unique.Make(t))
	}
	return m
}

func (b *Batch) invertEntries(a *analyzer) error {
	order, list := a.sortTerms()
	w := termWriter{emit: func(page []byte) error {
		b.pages = append(b.pages, page)
		return nil
	}}
	for _, t := range order {
		from, before := len(b.postings), int32(0)
		for _, e := range list[t.from:t.to] {
			b.postings = ranking.AppendPosting(b.postings, e.passage-before, e.tf)
			before = e.passage
		}
		if err := w.addTerm(a.terms[t.term], t.to-t.from, a.written[t.term], len(b.postings)-from); err != nil {
			return err
		}
	}
	return w.flush()
}

type span struct {
	term     int32
	from, to int
	begin    uint64 // first bytes of the term
}

func (a *analyzer) sortTerms() ([]span, []entry) {
	spans := make([]span, len(a.terms))
	for _, e := range a.entries {
		spans[e.term].to++
	}
	at := 0
	for i := range spans {
		n := spans[i].to
		spans[i] = span{int32(i), at, at, termPrefix(a.terms[i])}
		at += n
	}
	list := make([]entry, len(a.entries))
	for _, e := range a.entries {
		s := &spans[e.term]
		list[s.to] = e
		s.to++
	}
	slices.SortFunc(spans, func(s, t span) int {
		if s.begin != t.begin {
			return cmp.Compare(s.begin, t.begin)
		}
		return strings.Compare(a.terms[s.term], a.terms[t.term])
	})
	return spans, list
}

// termPrefix returns the first eight bytes of a term; if they differ, they order terms.
func termPrefix(term string) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

// Add indexes docs as one segment in the caller's transaction. A known ID is an error:
// remove it first.
func (x *Index) Add(ctx context.Context, tx *sql.Tx, docs []Doc) error {
	return x.AddBatch(ctx, tx, x.Prepare(docs))
}

// AddBatch is [Index.Add] of a batch. It takes about 25 ms for 500 passages.
func (x *Index) AddBatch(ctx context.Context, tx *sql.Tx, b Batch) error {
	if b.err != nil {
		return fmt.Errorf("index documents: %w", b.err)
	}
	if len(b.docs) == 0 {
		return nil
	}
	if err := x.addBatch(ctx, tx, b); err != nil {
		return fmt.Errorf("index documents: %w", err)
	}
	return nil
}

func (x *Index) addBatch(ctx context.Context, tx *sql.Tx, b Batch) error {
	s, err := x.advanceState(ctx, tx, counters{segment: 1, passage: int64(b.passages)})
	if err != nil {
		return err
	}
	first := s.passage - int64(b.passages) + 1
	if err := x.insertDocs(ctx, tx, b, first); err != nil {
		return err
	}
	out := newBlobWriter(x, s.segment)
	out.write(metaKind, b.meta)
	for _, p := range b.pages {
		out.addRow(termKind, p)
	}
	out.write(postingKind, b.postings)
	if err := out.flush(ctx, tx, true); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, x.db.Bind(insertSegment), s.segment, 1, s.version, s.version, 0, first, []byte{})
	return err
}

const insertSegment = `INSERT INTO index_segment (id, state, target, changed, purged, purges, beat, first, dead) VALUES (?, ?, 0, ?, ?, 0, ?, ?, ?)`

func (x *Index) insertDocs(ctx context.Context, tx *sql.Tx, b Batch, first int64) error {
	docs := inserter{query: `INSERT INTO index_doc (id, first, passages, language, title, names) VALUES `, columns: 6}
	passages := inserter{query: `INSERT INTO index_passage (num, doc, start_at, end_at, page, heading, speaker, body) VALUES `, columns: 8}
	defer docs.close()
	defer passages.close()
	for i, d := range b.docs {
		err := docs.addRow(ctx, x, tx, d.ID, first, len(d.Passages), string(b.langs[i]), d.Title, strings.Join(d.Names, "\n"))
		for _, p := range d.Passages {
			if err == nil {
				err = passages.addRow(ctx, x, tx, first, d.ID, p.Start, p.End, p.Page, p.Heading, p.Speaker, p.Text)
			}
			first++
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(docs.flush(ctx, x, tx), passages.flush(ctx, x, tx))
}

type counters struct{ version, segment, passage, purge int64 }

// advanceState increments the version and other counters, and locks them until the
// transaction ends.
func (x *Index) advanceState(ctx context.Context, tx *sql.Tx, by counters) (s counters, err error) {
	const query = `UPDATE index_state SET version = version + 1, segment = segment + ?, passage = passage + ?, purge = purge + ?
		WHERE one = 1 RETURNING version, segment, passage, purge`
	row := tx.QueryRowContext(ctx, x.db.Bind(query), by.segment, by.passage, by.purge)
	err = row.Scan(&s.version, &s.segment, &s.passage, &s.purge)
	return s, err
}
