package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// What merging is tuned by.
const (
	mergeFrom = 8         // segments of about a size are merged when they are so many
	mergeMost = 32        // and no more than so many at once
	mergeSize = 1 << 20   // passages: no segment is merged beyond
	stepBytes = 512 << 10 // what is written in a transaction
	stepRows  = 128       // what is deleted in one
)

// Merge does one step of what keeps the index small and fast, beside searching
// and adding, and reports whether there may be more to do: it deletes what is
// left of merged segments and of crashes, takes the words of removed documents
// out, or merges segments of about a size. The longest step, a merge, takes a
// second for 100,000 passages, in transactions of some milliseconds. If another
// merges, it does nothing.
func (x *Index) Merge(ctx context.Context) (more bool, err error) {
	if !x.merging.TryLock() {
		return false, nil
	}
	defer x.merging.Unlock()
	for _, step := range []func(context.Context) (bool, error){x.sweep, x.purge, x.merge} {
		more, err = step(ctx)
		if err != nil {
			return false, fmt.Errorf("tend the index: %w", err)
		}
		if more {
			return true, nil
		}
	}
	return false, nil
}

// sweep deletes a part of a segment that nobody needs.
func (x *Index) sweep(ctx context.Context) (more bool, err error) {
	const query = `SELECT id FROM index_segment WHERE state = 2 OR state = 0 AND beat < ? ORDER BY id LIMIT 1`
	var id int64
	err = x.db.Read.QueryRowContext(ctx, x.db.Bind(query), x.now()-alive.Microseconds()).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, x.db.Tx(ctx, func(tx *sql.Tx) error { return x.sweepSegment(ctx, tx, id) })
}

// sweepSegment deletes some of the rows of a segment, and when none is left the
// segment.
func (x *Index) sweepSegment(ctx context.Context, tx *sql.Tx, id int64) error {
	var n int
	var last sql.NullInt64
	const query = `SELECT count(*), max(id) FROM (SELECT id FROM index_blob WHERE id >= ? AND id < ? ORDER BY id LIMIT ?) AS some`
	if err := tx.QueryRowContext(ctx, x.db.Bind(query), blobID(id, 0, 0), blobID(id+1, 0, 0), stepRows).Scan(&n, &last); err != nil {
		return err
	}
	var queries []string
	if last.Valid {
		if _, err := tx.ExecContext(ctx, x.db.Bind(`DELETE FROM index_blob WHERE id >= ? AND id <= ?`), blobID(id, 0, 0), last.Int64); err != nil {
			return err
		}
	}
	if n == stepRows {
		queries = []string{`UPDATE index_segment SET state = 2 WHERE id = ?`}
	} else {
		queries = []string{`DELETE FROM index_purge WHERE segment = ?`, `DELETE FROM index_segment WHERE id = ?`, `UPDATE index_segment SET target = 0 WHERE target = ?`}
	}
	for _, query := range queries {
		if _, err := tx.ExecContext(ctx, x.db.Bind(query), id); err != nil {
			return err
		}
	}
	return nil
}

// A merger makes one segment of several.
type merger struct {
	x     *Index
	view  *view
	in    []*segment
	remap [][]int32 // of each segment, the new numbers of its passages, or -1
	purge int64     // the newest purge whose terms are left out by merging

	id    int64
	out   *segment
	w     *blobWriter
	terms termWriter
}

// merge merges some segments, if there is something to merge.
func (x *Index) merge(ctx context.Context) (more bool, err error) {
	m := merger{x: x}
	err = x.reading(ctx, func(tx *sql.Tx, v *view) error {
		m.view = v
		m.in = v.candidates()
		return tx.QueryRowContext(ctx, `SELECT purge FROM index_state WHERE one = 1`).Scan(&m.purge)
	})
	if err != nil || len(m.in) == 0 {
		return false, err
	}
	switch err := m.run(ctx); {
	case errors.Is(err, errTaken):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("merge %d segments: %w", len(m.in), err)
	}
	return true, nil
}

// errTaken says that another process merges the same segments.
var errTaken = errors.New("another merges")

// candidates returns the segments to merge: those that have nothing left, one of
// which a quarter was removed, or some of about a size, the smallest first.
func (v *view) candidates() []*segment {
	tiers := map[int][]*segment{}
	last := 0
	for _, s := range v.segments {
		if s.liveDocs == 0 || len(s.lens) > 1_000 && (len(s.lens)-s.live)*4 > len(s.lens) {
			return []*segment{s}
		}
		t := (bits.Len(uint(s.live)) + 2) / 3 // by a factor of 8
		tiers[t] = append(tiers[t], s)
		last = max(last, t)
	}
	for t := 0; t <= last; t++ {
		list := tiers[t]
		if len(list) < mergeFrom {
			continue
		}
		list = list[:min(len(list), mergeMost)]
		size := 0
		for _, s := range list {
			size += s.live
		}
		if size <= mergeSize {
			return list
		}
	}
	return nil
}

func (m *merger) run(ctx context.Context) error {
	if err := m.take(ctx); err != nil {
		return err
	}
	if err := m.make(ctx); err != nil {
		m.abandon(context.WithoutCancel(ctx))
		return err
	}
	return nil
}

// abandon leaves what was made to be deleted, and the segments to others. If it
// cannot, they are free when the maker was silent for long enough.
func (m *merger) abandon(ctx context.Context) {
	_ = m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		for _, query := range []string{`UPDATE index_segment SET state = 2 WHERE id = ? AND state = 0`, `UPDATE index_segment SET target = 0 WHERE target = ?`} {
			if _, err := tx.ExecContext(ctx, m.x.db.Bind(query), m.id); err != nil {
				return err
			}
		}
		return nil
	})
}

// make makes the new segment.
func (m *merger) make(ctx context.Context) error {
	m.w = newBlobWriter(m.x, m.id)
	m.terms.emit = func(page []byte) error {
		m.addPage(page)
		m.w.row(termKind, page)
		return m.step(ctx)
	}
	if err := m.docs(ctx); err != nil {
		return err
	}
	if err := m.postings(ctx); err != nil {
		return err
	}
	return m.publish(ctx)
}

// addPage keeps a page for the segment that is being made.
func (m *merger) addPage(page []byte) {
	if p, ok := newTermPage(m.w.next[termKind], page); ok {
		m.out.terms.pages = append(m.out.terms.pages, p)
	}
}

// take takes the segments, so that no other process merges or purges them.
func (m *merger) take(ctx context.Context) error {
	return m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		st, err := m.x.advance(ctx, tx, state{segment: 1})
		if err != nil {
			return err
		}
		m.id = st.segment
		for _, s := range m.in {
			const query = `UPDATE index_segment SET target = ? WHERE id = ? AND state = 1 AND target = 0 AND purged = ?`
			if err := one(tx.ExecContext(ctx, m.x.db.Bind(query), m.id, s.id, s.purged)); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, m.x.db.Bind(insertSegment), m.id, 0, 0, 0, m.x.now(), 0, []byte{})
		return err
	})
}

// one returns errTaken if a statement did not change one row.
func one(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n != 1 {
		err = errTaken
	}
	return err
}

// docs writes the documents that are left.
func (m *merger) docs(ctx context.Context) error {
	m.out = &segment{segmentRow: segmentRow{id: m.id}, terms: new(dictionary)}
	var meta []byte
	for _, s := range m.in {
		remap := make([]int32, len(s.lens))
		for i := range s.docs {
			d := s.docs[i]
			for j := range d.n {
				remap[d.at+j] = -1
				if !s.dead.has(i) {
					remap[d.at+j] = int32(len(m.out.lens)) + j
				}
			}
			if s.dead.has(i) {
				continue
			}
			lens := s.lens[d.at : d.at+d.n]
			d.at = int32(len(m.out.lens))
			before := (*docMeta)(nil)
			if n := len(m.out.docs); n > 0 {
				before = &m.out.docs[n-1]
			}
			meta = appendMeta(meta[:0], &d, before, lens)
			m.w.write(metaKind, meta)
			m.out.docs, m.out.lens = append(m.out.docs, d), append(m.out.lens, lens...)
		}
		m.remap = append(m.remap, remap)
		if err := m.step(ctx); err != nil {
			return err
		}
	}
	m.out.index()
	return nil
}

// step writes what there is in a transaction of its own, if it is enough.
func (m *merger) step(ctx context.Context) error {
	if m.w.size < stepBytes {
		return nil
	}
	return m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := m.hold(ctx, tx, 0); err != nil {
			return err
		}
		return m.w.flush(ctx, tx, false)
	})
}

// hold says that the segment is still being made, or that it is done.
func (m *merger) hold(ctx context.Context, tx *sql.Tx, state int) error {
	const query = `UPDATE index_segment SET beat = ?, state = ? WHERE id = ? AND state = 0`
	return one(tx.ExecContext(ctx, m.x.db.Bind(query), m.x.now(), state, m.id))
}

// publish puts the new segment in the place of the old ones.
func (m *merger) publish(ctx context.Context) error {
	err := m.x.db.Tx(ctx, func(tx *sql.Tx) error {
		if err := m.hold(ctx, tx, 1); err != nil {
			return err
		}
		if err := m.w.flush(ctx, tx, true); err != nil {
			return err
		}
		return m.replace(ctx, tx)
	})
	if err != nil {
		return err
	}
	m.out.count()
	m.x.mu.Lock()
	m.x.ready[m.id] = m.out
	m.x.mu.Unlock()
	return m.x.reading(ctx, func(*sql.Tx, *view) error { return nil })
}

func (m *merger) replace(ctx context.Context, tx *sql.Tx) error {
	st, err := m.x.advance(ctx, tx, state{})
	if err != nil {
		return err
	}
	at := 0 // documents so far
	var dead []int
	for _, s := range m.in {
		now, err := m.deadNow(ctx, tx, s)
		if err != nil {
			return err
		}
		for i := range s.docs {
			if s.dead.has(i) {
				continue
			}
			if now.has(i) {
				dead = append(dead, at)
			}
			at++
		}
		if err := m.retire(ctx, tx, s); err != nil {
			return err
		}
	}
	m.out.dead, m.out.changed, m.out.purged = bitset(nil).with(dead...), st.version, st.version
	if err := tx.QueryRowContext(ctx, m.x.db.Bind(`SELECT count(*) FROM index_purge WHERE segment = ?`), m.id).Scan(&m.out.purges); err != nil {
		return err
	}
	const query = `UPDATE index_segment SET changed = ?, purged = ?, purges = ?, dead = ? WHERE id = ?`
	if len(m.out.docs) == 0 {
		_, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_segment SET state = 2 WHERE id = ?`), m.id)
		return err
	}
	_, err = tx.ExecContext(ctx, m.x.db.Bind(query), st.version, st.version, m.out.purges, append([]byte{}, m.out.dead...), m.id)
	return err
}

// deadNow returns which documents of a segment were removed by now, if it is
// still the merger's.
func (m *merger) deadNow(ctx context.Context, tx *sql.Tx, s *segment) (dead bitset, err error) {
	const query = `SELECT dead FROM index_segment WHERE id = ? AND state = 1 AND target = ?`
	err = tx.QueryRowContext(ctx, m.x.db.Bind(query), s.id, m.id).Scan((*[]byte)(&dead))
	if errors.Is(err, sql.ErrNoRows) {
		err = errTaken
	}
	return dead, err
}

// retire has a merged segment deleted. Purges that came too late are those of the
// new segment.
func (m *merger) retire(ctx context.Context, tx *sql.Tx, s *segment) error {
	if _, err := tx.ExecContext(ctx, m.x.db.Bind(`DELETE FROM index_purge WHERE segment = ? AND id <= ?`), s.id, m.purge); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_purge SET segment = ? WHERE segment = ?`), m.id, s.id); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, m.x.db.Bind(`UPDATE index_segment SET state = 2, target = 0 WHERE id = ?`), s.id)
	return err
}

// postings writes the terms and postings.
func (m *merger) postings(ctx context.Context) error {
	readers := make([]*reader, len(m.in))
	for i, s := range m.in {
		readers[i] = &reader{x: m.x, s: s}
	}
	var list []posting
	var buf []byte
	for terms := range union(m.in) {
		list = list[:0]
		written := false
		for _, t := range terms {
			data, err := readers[t.segment].read(ctx, t.entry)
			if err != nil {
				return err
			}
			written = written || t.entry.written
			from := len(list)
			list = appendPostings(list, data, t.entry.df, len(m.in[t.segment].lens))
			kept := list[:from]
			for _, p := range list[from:] {
				if p.at = m.remap[t.segment][p.at]; p.at >= 0 {
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
			buf = appendPosting(buf, p.at-before, p.tf)
			before = p.at
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
	shared := min(int(h.c.uint()), len(h.key))
	h.key = append(h.key[:shared], h.c.bytes()...)
	df, size := h.c.uint(), int(h.c.uint())
	h.term = string(h.key)
	h.entry = termEntry{int(df >> 1), df&1 != 0, h.at, size}
	h.at += int64(size)
	return !h.c.bad
}
