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

// maxLanguages is the most languages, as bits of a mask.
const maxLanguages = 32

// languages has those that words are stemmed by, and behind them "und" for
// languages without stems.
var languages = append(lexical.Languages(), undetermined)

const (
	undetermined lexical.Language = "und"
	english      lexical.Language = "en"
)

// languageNumber returns the number of a language in languages.
func languageNumber(code string) uint8 {
	i := slices.Index(languages, lexical.Language(code))
	if i < 0 {
		i = len(languages) - 1
	}
	return uint8(i)
}

// stemLanguage returns what the words of a document are stemmed by.
func stemLanguage(d *Doc) lexical.Language {
	lang := d.Language
	if lang == "" {
		lang, _ = lexical.Detect(sample(d))
	}
	switch {
	case lang == "":
		return english
	case slices.Contains(languages, lang):
		return lang
	}
	return undetermined
}

// maxSample is how many bytes are read to know the language.
const maxSample = 1 << 10

func sample(d *Doc) string {
	var b []byte
	for i := 0; i < len(d.Passages) && len(b) < maxSample; i++ {
		b = append(append(b, d.Passages[i].Text...), '\n')
	}
	if len(b) < maxSample {
		b = append(b, d.Title...)
	}
	return string(b[:min(len(b), maxSample)])
}

// A Batch is documents that are ready to be added: a segment. It can be added
// again where a transaction that added it was rolled back.
type Batch struct {
	docs     []Doc
	langs    []lexical.Language
	meta     []byte
	pages    [][]byte // of terms
	postings []byte
	passages int
	err      error
}

// Passages returns how many passages a batch has.
func (b Batch) Passages() int { return b.passages }

// Prepare does the work of adding documents that needs no transaction: about
// 50 µs for a passage of 100 words. The documents must not be changed until the
// batch is added. What is wrong with them, AddBatch says.
func (x *Index) Prepare(docs []Doc) Batch {
	b := Batch{docs: docs, langs: make([]lexical.Language, len(docs))}
	a := newAnalyzer(x.readings)
	metas := make([]docMeta, len(docs))
	for i := range docs {
		runtime.Gosched() // who searches goes first
		d := &docs[i]
		if d.ID <= 0 {
			b.err = fmt.Errorf("document with the id %d", d.ID)
			return b
		}
		b.langs[i] = stemLanguage(d)
		at := len(a.lens)
		a.add(d, b.langs[i])
		metas[i] = newMeta(d, b.langs[i], int64(at))
		before := (*docMeta)(nil)
		if i > 0 {
			before = &metas[i-1]
		}
		b.meta = appendMeta(b.meta, &metas[i], before, a.lens[at:])
	}
	b.passages = len(a.lens)
	b.err = b.invert(a)
	return b
}

func newMeta(d *Doc, lang lexical.Language, first int64) docMeta {
	m := docMeta{id: d.ID, first: first, date: micros(d.Date), lang: languageNumber(string(lang)), source: d.Source,
		owner: unique.Make(d.Owner), kind: unique.Make(d.Kind)}
	for _, t := range d.Tags {
		m.tags = append(m.tags, unique.Make(t))
	}
	return m
}

// invert makes the terms and postings of a segment.
func (b *Batch) invert(a *analyzer) error {
	order, list := a.sorted()
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
		if err := w.add(a.terms[t.term], t.to-t.from, a.written[t.term], len(b.postings)-from); err != nil {
			return err
		}
	}
	return w.flush()
}

// A span is where the entries of a term are.
type span struct {
	term     int32
	from, to int
	begin    uint64 // the first bytes of the term
}

// sorted returns the terms in order and the entries by term.
func (a *analyzer) sorted() ([]span, []entry) {
	spans := make([]span, len(a.terms))
	for _, e := range a.entries {
		spans[e.term].to++
	}
	at := 0
	for i := range spans {
		n := spans[i].to
		spans[i] = span{int32(i), at, at, begin(a.terms[i])}
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

// begin returns the first eight bytes of a term, which order terms as a whole
// where they differ.
func begin(term string) uint64 {
	var b [8]byte
	copy(b[:], term)
	return binary.BigEndian.Uint64(b[:])
}

// Add indexes documents as a segment of their own, in the caller's transaction:
// they are found when that commits. A document with an id that the index has is
// an error, for which [Index.Remove] is the cure.
func (x *Index) Add(ctx context.Context, tx *sql.Tx, docs []Doc) error {
	return x.AddBatch(ctx, tx, x.Prepare(docs))
}

// AddBatch is [Index.Add] of what was prepared. It takes about 25 ms for 500
// passages.
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
	s, err := x.advance(ctx, tx, state{segment: 1, passage: int64(b.passages)})
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
		out.row(termKind, p)
	}
	out.write(postingKind, b.postings)
	if err := out.flush(ctx, tx, true); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, x.db.Bind(insertSegment), s.segment, 1, s.version, s.version, 0, first, []byte{})
	return err
}

const insertSegment = `INSERT INTO index_segment (id, state, target, changed, purged, purges, beat, first, dead) VALUES (?, ?, 0, ?, ?, 0, ?, ?, ?)`

// insertDocs inserts documents and their passages.
func (x *Index) insertDocs(ctx context.Context, tx *sql.Tx, b Batch, first int64) error {
	docs := inserter{query: `INSERT INTO index_doc (id, first, passages, language, title, names) VALUES `, columns: 6}
	passages := inserter{query: `INSERT INTO index_passage (num, doc, start_at, end_at, page, heading, speaker, body) VALUES `, columns: 8}
	defer docs.close()
	defer passages.close()
	for i, d := range b.docs {
		err := docs.add(ctx, x, tx, d.ID, first, len(d.Passages), string(b.langs[i]), d.Title, strings.Join(d.Names, "\n"))
		for _, p := range d.Passages {
			if err == nil {
				err = passages.add(ctx, x, tx, first, d.ID, p.Start, p.End, p.Page, p.Heading, p.Speaker, p.Text)
			}
			first++
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(docs.flush(ctx, x, tx), passages.flush(ctx, x, tx))
}

// A state is what index_state counts.
type state struct{ version, segment, passage, purge int64 }

// advance makes a new version of the index and counts on. Nobody else can until
// the transaction ends.
func (x *Index) advance(ctx context.Context, tx *sql.Tx, by state) (s state, err error) {
	const query = `UPDATE index_state SET version = version + 1, segment = segment + ?, passage = passage + ?, purge = purge + ?
		WHERE one = 1 RETURNING version, segment, passage, purge`
	row := tx.QueryRowContext(ctx, x.db.Bind(query), by.segment, by.passage, by.purge)
	err = row.Scan(&s.version, &s.segment, &s.passage, &s.purge)
	return s, err
}
