package index

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"sort"
	"strings"

	"ponder/internal/textkit/ranking"
)

// purgeNext erases some terms of removed documents from a segment.
func (x *Index) purgeNext(ctx context.Context) (more bool, err error) {
	const query = `SELECT p.id FROM index_purge p JOIN index_segment s ON s.id = p.segment WHERE s.state = 1 AND s.target = 0 ORDER BY p.id LIMIT 1`
	var id int64
	err = x.db.Read.QueryRowContext(ctx, query).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, x.db.Tx(ctx, func(tx *sql.Tx) error { return x.purgeRow(ctx, tx, id) })
}

func (x *Index) purgeRow(ctx context.Context, tx *sql.Tx, id int64) error {
	const query = `SELECT p.segment, p.terms FROM index_purge p JOIN index_segment s ON s.id = p.segment WHERE p.id = ? AND s.state = 1 AND s.target = 0`
	var segment int64
	var terms []byte
	err := tx.QueryRowContext(ctx, x.db.Bind(query), id).Scan(&segment, &terms)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process did it
	}
	if err != nil {
		return err
	}
	v, err := x.viewOfTx(ctx, tx)
	if err != nil {
		return err
	}
	s := v.findSegment(segment)
	if s == nil {
		return errDamaged
	}
	p := purger{x: x, s: s, chunks: map[int64][]byte{}, pages: map[int]*pageEdit{}}
	for term := range strings.SplitSeq(string(terms), "\n") {
		if err := p.purgeTerm(ctx, tx, term); err != nil {
			return err
		}
	}
	if err := p.writeBlobs(ctx, tx); err != nil {
		return err
	}
	st, err := x.advanceState(ctx, tx, counters{})
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, x.db.Bind(`UPDATE index_segment SET purged = ?, purges = purges - 1 WHERE id = ?`), st.version, segment); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, x.db.Bind(`DELETE FROM index_purge WHERE id = ?`), id)
	return err
}

type purger struct {
	x      *Index
	s      *segment
	chunks map[int64][]byte
	pages  map[int]*pageEdit
}

// A pageEdit has new numbers of passages; terms with 0 are dropped.
type pageEdit struct{ dfs map[string]int }

// purgeTerm erases removed passages from a term's postings. The rest moves up, and zeros
// fill the end.
func (p *purger) purgeTerm(ctx context.Context, tx *sql.Tx, term string) error {
	e, ok := p.s.terms.findTerm(term)
	if !ok {
		return nil
	}
	for c := e.at / chunkSize; c*chunkSize < e.at+int64(e.size); c++ {
		id := blobID(p.s.id, postingKind, int(c))
		if p.chunks[id] != nil {
			continue
		}
		var data []byte
		if err := tx.QueryRowContext(ctx, p.x.db.Bind(`SELECT data FROM index_blob WHERE id = ?`), id).Scan(&data); err != nil {
			return err
		}
		p.chunks[id] = data
	}
	list, err := p.s.postingBytes(e, p.chunks)
	if err != nil {
		return err
	}
	var out []byte
	before, df := int32(0), 0
	for _, k := range ranking.AppendPostings(nil, list, e.df, len(p.s.lens)) {
		if !p.s.dead.isSet(int(p.s.docOf[k.At])) {
			out = ranking.AppendPosting(out, k.At-before, k.Freq)
			before = k.At
			df++
		}
	}
	if df == e.df {
		return nil
	}
	if len(out) > e.size {
		return errDamaged
	}
	p.storePostings(e, append(out, make([]byte, e.size-len(out))...))
	i := sort.Search(len(p.s.terms.pages), func(i int) bool { return p.s.terms.pages[i].first > term }) - 1
	if p.pages[i] == nil {
		p.pages[i] = &pageEdit{map[string]int{}}
	}
	p.pages[i].dfs[term] = df
	return nil
}

func (p *purger) storePostings(e termEntry, list []byte) {
	for at := e.at; len(list) > 0; {
		n := copy(p.chunks[blobID(p.s.id, postingKind, int(at/chunkSize))][at%chunkSize:], list)
		list, at = list[n:], at+int64(n)
	}
}

func (p *purger) writeBlobs(ctx context.Context, tx *sql.Tx) error {
	update := p.x.db.Bind(`UPDATE index_blob SET data = ? WHERE id = ?`)
	for id, data := range p.chunks {
		if _, err := tx.ExecContext(ctx, update, data, id); err != nil {
			return err
		}
	}
	for i, edit := range p.pages {
		page := &p.s.terms.pages[i]
		if _, err := tx.ExecContext(ctx, update, edit.apply(page), blobID(p.s.id, termKind, page.row)); err != nil {
			return err
		}
	}
	return nil
}

// apply returns the edited page. Postings of dropped terms become padding of the
// previous term.
func (e *pageEdit) apply(p *termPage) []byte {
	type kept struct {
		term    string
		df      int
		written bool
		size    int
	}
	var list []kept
	at := p.at
	var key []byte
	for c := (cursor{data: p.data}); !c.atEnd(); {
		key = append(key[:c.readInt(len(key))], c.readBytes()...)
		df, size := c.readInt(maxPostings), c.readInt(maxPostings)
		k := kept{string(key), df >> 1, df&1 != 0, size}
		if n, ok := e.dfs[k.term]; ok {
			k.df = n
		}
		switch {
		case k.df > 0:
			list = append(list, k)
		case len(list) > 0:
			list[len(list)-1].size += size
		default:
			at += int64(size)
		}
	}
	var b bytes.Buffer
	b.Write(binary.AppendUvarint(nil, uint64(at)))
	last := ""
	for _, k := range list {
		b.Write(appendTerm(nil, last, k.term, k.df, k.written, k.size))
		last = k.term
	}
	return b.Bytes()
}
