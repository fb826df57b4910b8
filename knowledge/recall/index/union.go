package index

import (
	"cmp"
	"context"
	"database/sql"
	"runtime"
	"slices"

	"ponder/internal/textkit/ranking"
)

// postings writes the terms and postings.
func (m *merger) postings(ctx context.Context) error {
	readers := make([]*reader, len(m.in))
	for i, s := range m.in {
		readers[i] = &reader{x: m.x, s: s}
	}
	var list []ranking.Posting
	var buf []byte
	n := 0
	for terms := range union(m.in) {
		if n++; n%64 == 0 {
			runtime.Gosched() // who searches goes first
		}
		list = list[:0]
		written := false
		for _, t := range terms {
			data, err := readers[t.segment].read(ctx, t.entry)
			if err != nil {
				return err
			}
			written = written || t.entry.written
			from := len(list)
			list = ranking.AppendPostings(list, data, t.entry.df, len(m.in[t.segment].lens))
			kept := list[:from]
			for _, p := range list[from:] {
				if p.At = m.remap[t.segment][p.At]; p.At >= 0 {
					kept = append(kept, p)
				}
			}
			list = kept
		}
		if len(list) == 0 {
			continue
		}
		buf = buf[:0]
		before := int32(0)
		for _, p := range list {
			buf = ranking.AppendPosting(buf, p.At-before, p.Freq)
			before = p.At
		}
		m.w.write(postingKind, buf)
		if err := m.terms.add(terms[0].term, len(list), written, len(buf)); err != nil {
			return err
		}
	}
	return m.terms.flush()
}

// A segmentTerm is a term of one of several segments.
type segmentTerm struct {
	term    string
	segment int
	entry   termEntry
}

// A reader reads the postings of a segment from the first to the last.
type reader struct {
	x    *Index
	s    *segment
	from int // the first chunk in data
	data []byte
	size int
}

// readAhead is how many chunks are read at a time.
const readAhead = 16

// read returns the postings of a term. They are valid until the next read.
func (r *reader) read(ctx context.Context, e termEntry) ([]byte, error) {
	for {
		at := int(e.at - int64(r.from)*chunkSize)
		if at >= 0 && at+e.size <= len(r.data) {
			return r.data[at : at+e.size], nil
		}
		if at < 0 {
			return nil, errDamaged
		}
		keep := min(at/chunkSize, len(r.data)/chunkSize)
		next := r.from + len(r.data)/chunkSize
		r.data = append(r.data[:0:0], r.data[keep*chunkSize:]...)
		r.from += keep
		if len(r.data) == 0 {
			next = int(e.at / chunkSize)
			r.from = next
		}
		if n, err := r.fill(ctx, next); err != nil || n == 0 {
			return nil, cmp.Or(err, errDamaged)
		}
	}
}

// fill reads chunks from one on.
func (r *reader) fill(ctx context.Context, next int) (n int, err error) {
	const query = `SELECT data FROM index_blob WHERE id >= ? AND id < ? ORDER BY id`
	rows, err := r.x.db.Read.QueryContext(ctx, r.x.db.Bind(query), blobID(r.s.id, postingKind, next), blobID(r.s.id, postingKind, next+readAhead))
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return 0, err
		}
		r.data = append(r.data, data...)
	}
	return n, rows.Err()
}

// union returns the terms of segments in order, each with all that have it.
func union(in []*segment) func(yield func([]segmentTerm) bool) {
	return func(yield func([]segmentTerm) bool) {
		var heads []*head
		for i, s := range in {
			if h := newHead(i, s.terms); h.next() {
				heads = append(heads, h)
			}
		}
		order := func(a, b *head) int { return cmp.Or(cmp.Compare(a.term, b.term), a.segment-b.segment) }
		slices.SortFunc(heads, order)
		var out []segmentTerm
		for len(heads) > 0 {
			out = out[:0]
			first := heads[0].term
			n := 0
			for n < len(heads) && heads[n].term == first {
				out = append(out, segmentTerm{first, heads[n].segment, heads[n].entry})
				n++
			}
			if !yield(out) {
				return
			}
			moved := append([]*head(nil), heads[:n]...)
			heads = heads[n:]
			for _, h := range moved {
				if h.next() {
					i, _ := slices.BinarySearchFunc(heads, h, order)
					heads = slices.Insert(heads, i, h)
				}
			}
		}
	}
}

// A head is the next term of a dictionary.
type head struct {
	segment int
	d       *dictionary
	page    int
	c       cursor
	at      int64
	key     []byte
	term    string
	entry   termEntry
}

func newHead(segment int, d *dictionary) *head {
	h := &head{segment: segment, d: d}
	h.open()
	return h
}

// open begins a page.
func (h *head) open() {
	if h.page < len(h.d.pages) {
		h.c, h.at = cursor{data: h.d.pages[h.page].data}, h.d.pages[h.page].at
	}
}

// next goes to the next term, and reports whether there is one.
func (h *head) next() bool {
	for h.c.done() {
		if h.page++; h.page >= len(h.d.pages) {
			return false
		}
		h.open()
	}
	shared := h.c.int(len(h.key))
	h.key = append(h.key[:shared], h.c.bytes()...)
	df, size := h.c.int(maxPostings), h.c.int(maxPostings)
	h.term = string(h.key)
	h.entry = termEntry{df >> 1, df&1 != 0, h.at, size}
	h.at += int64(size)
	return !h.c.bad
}
