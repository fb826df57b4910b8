package index

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"
)

// A segment is loaded without its postings. It is immutable: after removals, a new one
// reuses its parts.
type segment struct {
	segmentRow

	docs  []docMeta
	docOf []int32
	lens  []uint16
	terms *dictionary
	byID  *docLookup

	live, liveDocs int
	length         int64
	langs          [maxLanguages]int
}

type segmentRow struct {
	id              int64
	changed, purged int64
	purges          int
	first           int64
	dead            bitset
}

// hasRemoved reports whether postings may have removed passages.
func (s *segment) hasRemoved() bool { return s.purges > 0 }

// A docLookup finds documents by ID.
type docLookup struct {
	once  sync.Once
	order []int32
}

// findDoc returns the index of a document, or -1 if unknown or removed.
func (s *segment) findDoc(id int64) int {
	s.byID.once.Do(func() {
		s.byID.order = make([]int32, len(s.docs))
		for i := range s.byID.order {
			s.byID.order[i] = int32(i)
		}
		slices.SortFunc(s.byID.order, func(a, b int32) int { return cmp.Compare(s.docs[a].id, s.docs[b].id) })
	})
	order := s.byID.order
	i, ok := slices.BinarySearchFunc(order, id, func(a int32, id int64) int { return cmp.Compare(s.docs[a].id, id) })
	for ; ok && i < len(order) && s.docs[order[i]].id == id; i++ {
		if n := int(order[i]); !s.dead.isSet(n) {
			return n
		}
	}
	return -1
}

func (s *segment) countLive() {
	s.live, s.liveDocs, s.length = 0, 0, 0
	clear(s.langs[:])
	for i := range s.docs {
		if s.dead.isSet(i) {
			continue
		}
		d := &s.docs[i]
		s.liveDocs++
		s.live += int(d.n)
		s.langs[d.lang] += int(d.n)
		for _, n := range s.lens[d.at : d.at+d.n] {
			s.length += int64(n & maxLength)
		}
	}
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// loadSegment reads a segment and reuses the parts of old, which may be nil.
func (x *Index) loadSegment(ctx context.Context, q queryer, row segmentRow, old *segment) (*segment, error) {
	s := &segment{segmentRow: row}
	if err := q.QueryRowContext(ctx, x.db.Bind(`SELECT dead FROM index_segment WHERE id = ?`), row.id).Scan((*[]byte)(&s.dead)); err != nil {
		return nil, fmt.Errorf("segment %d: %w", row.id, err)
	}
	if old != nil {
		s.docs, s.docOf, s.lens, s.byID = old.docs, old.docOf, old.lens, old.byID
	} else if err := x.loadDocs(ctx, q, s); err != nil {
		return nil, fmt.Errorf("documents of segment %d: %w", row.id, err)
	}
	if old != nil && old.purged == row.purged {
		s.terms = old.terms
	} else if err := x.loadTerms(ctx, q, s); err != nil {
		return nil, fmt.Errorf("terms of segment %d: %w", row.id, err)
	}
	s.countLive()
	return s, nil
}

func (x *Index) loadDocs(ctx context.Context, q queryer, s *segment) error {
	var all strings.Builder
	err := x.readBlobs(ctx, q, s.id, metaKind, func(_ int, data []byte) error {
		all.Write(data)
		return nil
	})
	if err != nil {
		return err
	}
	ok := false
	if s.docs, s.lens, ok = readMeta(all.String(), s.first); !ok {
		return errDamaged
	}
	s.indexDocs()
	return nil
}

func (s *segment) indexDocs() {
	s.byID = new(docLookup)
	s.docOf = make([]int32, len(s.lens))
	for i, d := range s.docs {
		for j := d.at; j < d.at+d.n; j++ {
			s.docOf[j] = int32(i)
		}
	}
}

func (x *Index) loadTerms(ctx context.Context, q queryer, s *segment) error {
	s.terms = new(dictionary)
	return x.readBlobs(ctx, q, s.id, termKind, func(n int, data []byte) error {
		if p, ok := newTermPage(n, data); ok {
			s.terms.pages = append(s.terms.pages, p)
		}
		return nil
	})
}

// readBlobs calls yield with the rows of a kind in order. Yield may keep data.
func (x *Index) readBlobs(ctx context.Context, q queryer, segment int64, kind int, yield func(n int, data []byte) error) error {
	base := blobID(segment, kind, 0)
	rows, err := q.QueryContext(ctx, x.db.Bind(`SELECT id, data FROM index_blob WHERE id >= ? AND id < ? ORDER BY id`), base, blobID(segment, kind+1, 0))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var data []byte
		if err := rows.Scan(&id, &data); err != nil {
			return err
		}
		if err := yield(int(id-base), data); err != nil {
			return err
		}
	}
	return rows.Err()
}

type atom = unique.Handle[string]

// A docMeta is the part of a document that stays in memory.
type docMeta struct {
	id          int64
	first       int64
	at, n       int32
	date        int64 // Unix microseconds; 0 if unknown
	lang        uint8 // index in languages
	owner, kind atom
	source      string
	tags        []atom
}

const (
	sameOwner = 1 << iota
	sameKind
	sameTags
	sameLang
)

// appendMeta encodes a document relative to the previous one; before is nil for the
// first.
func appendMeta(b []byte, d, before *docMeta, lens []uint16) []byte {
	if before == nil {
		before = &docMeta{owner: unique.Make(""), kind: unique.Make("")}
	}
	flags := byte(0)
	set := func(same bool, flag byte) bool {
		if same {
			flags |= flag
		}
		return same
	}
	owner, kind := set(d.owner == before.owner, sameOwner), set(d.kind == before.kind, sameKind)
	tags, lang := set(slices.Equal(d.tags, before.tags), sameTags), set(d.lang == before.lang, sameLang)
	b = append(b, flags)
	b = appendSigned(b, d.id-before.id)
	b = appendSigned(b, d.first-before.first)
	b = appendSigned(b, d.date-before.date)
	b = appendString(b, d.source)
	if !owner {
		b = appendString(b, d.owner.Value())
	}
	if !kind {
		b = appendString(b, d.kind.Value())
	}
	if !lang {
		b = appendString(b, string(languages[d.lang]))
	}
	if !tags {
		b = binary.AppendUvarint(b, uint64(len(d.tags)))
		for _, t := range d.tags {
			b = appendString(b, t.Value())
		}
	}
	b = binary.AppendUvarint(b, uint64(len(lens)))
	for _, n := range lens {
		b = binary.AppendUvarint(b, uint64(n&maxLength)<<1|uint64(n/spoken))
	}
	return b
}

// readMeta decodes the documents of a segment, with passages numbered from first.
func readMeta(data string, first int64) (docs []docMeta, lens []uint16, ok bool) {
	before := docMeta{owner: unique.Make(""), kind: unique.Make("")}
	c := cursor{data: []byte(data)}
	text := func() string { // without a copy
		n := len(c.readBytes())
		return data[c.at-n : c.at]
	}
	for !c.atEnd() {
		d := before
		flags := c.data[c.at]
		c.at++
		d.id += c.readSigned()
		d.first += c.readSigned()
		d.date += c.readSigned()
		d.source = text()
		if flags&sameOwner == 0 {
			d.owner = unique.Make(text())
		}
		if flags&sameKind == 0 {
			d.kind = unique.Make(text())
		}
		if flags&sameLang == 0 {
			d.lang = languageNumber(text())
		}
		if flags&sameTags == 0 {
			d.tags = nil
			for n := c.readInt(len(data)); n > 0 && !c.damaged; n-- {
				d.tags = append(d.tags, unique.Make(text()))
			}
		}
		d.at, d.n = int32(len(lens)), int32(c.readInt(len(data)))
		for n := d.n; n > 0 && !c.damaged; n-- {
			n := c.readInt(maxLength<<1 | 1)
			lens = append(lens, uint16(n>>1|n&1*spoken))
		}
		docs = append(docs, d)
		before = d
	}
	for i := range docs {
		docs[i].first += first
	}
	return docs, lens, !c.damaged
}

func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

const purgeTerms = 256

// Remove removes documents in the caller's transaction: texts at once, words with a
// later [Index.Merge]. Searches skip them from the commit on. Unknown documents are
// ignored.
func (x *Index) Remove(ctx context.Context, tx *sql.Tx, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := x.removeDocs(ctx, tx, ids); err != nil {
		return fmt.Errorf("remove %d documents from the index: %w", len(ids), err)
	}
	return nil
}

type removal struct {
	docs  []int
	terms *analyzer
}

func (x *Index) removeDocs(ctx context.Context, tx *sql.Tx, ids []int64) error {
	v, err := x.viewOfTx(ctx, tx)
	if err != nil {
		return err
	}
	found := map[*segment]*removal{}
	var order []*segment
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		doc, lang, err := x.readDoc(ctx, tx, id, 0)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		s, n := v.findDoc(id)
		if s == nil {
			return fmt.Errorf("document %d: %w", id, errDamaged)
		}
		if found[s] == nil {
			found[s] = &removal{terms: newAnalyzer(x.forms)}
			order = append(order, s)
		}
		found[s].docs = append(found[s].docs, n)
		found[s].terms.addDoc(doc, lang)
		if err := x.deleteDoc(ctx, tx, id, s.docs[n]); err != nil {
			return err
		}
	}
	for _, s := range order {
		if err := x.markDead(ctx, tx, s, found[s]); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) findDoc(id int64) (*segment, int) {
	for _, s := range v.segments {
		if n := s.findDoc(id); n >= 0 {
			return s, n
		}
	}
	return nil, 0
}

func (x *Index) deleteDoc(ctx context.Context, tx *sql.Tx, id int64, d docMeta) error {
	if _, err := tx.ExecContext(ctx, x.db.Bind(`DELETE FROM index_doc WHERE id = ?`), id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, x.db.Bind(`DELETE FROM index_passage WHERE num >= ? AND num < ?`), d.first, d.first+int64(d.n))
	return err
}

func (x *Index) markDead(ctx context.Context, tx *sql.Tx, s *segment, r *removal) error {
	slices.Sort(r.terms.terms)
	lists := slices.Collect(slices.Chunk(r.terms.terms, purgeTerms))
	st, err := x.advanceState(ctx, tx, counters{purge: int64(len(lists))})
	if err != nil {
		return err
	}
	const update = `UPDATE index_segment SET dead = ?, changed = ?, purges = purges + ? WHERE id = ?`
	if _, err := tx.ExecContext(ctx, x.db.Bind(update), []byte(s.dead.setBits(r.docs...)), st.version, len(lists), s.id); err != nil {
		return err
	}
	for i, list := range lists {
		const insert = `INSERT INTO index_purge (id, segment, terms) VALUES (?, ?, ?)`
		id := st.purge - int64(len(lists)) + 1 + int64(i)
		if _, err := tx.ExecContext(ctx, x.db.Bind(insert), id, s.id, []byte(strings.Join(list, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
