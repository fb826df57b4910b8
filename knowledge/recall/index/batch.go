package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"unique"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

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
