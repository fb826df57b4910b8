package index

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"ponder/internal/textkit/ranking"
)

type termPlace struct {
	segment int
	langs   uint32
	entry   termEntry
}

func (x *Index) fetchGroups(ctx context.Context, tx *sql.Tx, v *view, groups []*group) error {
	places := make([][]termPlace, len(groups))
	_ = runParallel(len(groups), func(i int) error {
		places[i] = v.findPlaces(groups[i])
		return nil
	})
	blobs, err := x.fetchChunks(ctx, tx, v, places)
	if err != nil {
		return err
	}
	return runParallel(len(groups), func(i int) error { return groups[i].readLists(v, places[i], blobs) })
}

// runParallel runs n calls in parallel and joins their errors.
func runParallel(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := 1; i < n; i++ {
		wg.Go(func() { errs[i] = do(i) })
	}
	if n > 0 {
		errs[0] = do(0)
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (v *view) findPlaces(g *group) (list []termPlace) {
	for _, t := range g.terms {
		for i, s := range v.segments {
			if e, ok := s.terms.findTerm(t.term); ok && e.df > 0 {
				list = append(list, termPlace{i, t.langs, e})
			}
		}
	}
	return list
}

// fetchChunks returns the rows that hold the postings, by ID.
func (x *Index) fetchChunks(ctx context.Context, tx *sql.Tx, v *view, groups [][]termPlace) (map[int64][]byte, error) {
	blobs := map[int64][]byte{}
	var missing []chunkKey
	for _, list := range groups {
		for _, p := range list {
			s, e := v.segments[p.segment], p.entry
			for c := e.at / chunkSize; c*chunkSize < e.at+int64(e.size); c++ {
				k := chunkKey{blobID(s.id, postingKind, int(c)), s.purged}
				if _, ok := blobs[k.id]; ok {
					continue
				}
				if blobs[k.id] = x.cache.get(k); blobs[k.id] == nil {
					missing = append(missing, k)
				}
			}
		}
	}
	return blobs, x.fetchBlobs(ctx, tx, missing, blobs)
}

func (g *group) readLists(v *view, places []termPlace, blobs map[int64][]byte) error {
	g.lists = make([][]ranking.Posting, len(v.segments))
	for _, p := range places {
		s := v.segments[p.segment]
		list, err := s.postingBytes(p.entry, blobs)
		if err != nil {
			return err
		}
		g.lists[p.segment] = s.appendPostings(g.lists[p.segment], list, p)
	}
	g.countPassages(v)
	return nil
}

func (s *segment) postingBytes(e termEntry, blobs map[int64][]byte) ([]byte, error) {
	at, size := e.at, e.size
	from := int(at % chunkSize)
	data := blobs[blobID(s.id, postingKind, int(at/chunkSize))]
	if from+size <= len(data) {
		return data[from : from+size], nil
	}
	out := make([]byte, 0, size)
	for size > 0 {
		data, from := blobs[blobID(s.id, postingKind, int(at/chunkSize))], int(at%chunkSize)
		n := min(size, len(data)-from)
		if n <= 0 {
			return nil, errDamaged
		}
		out = append(out, data[from:from+n]...)
		at, size = at+int64(n), size-n
	}
	return out, nil
}

// appendPostings appends postings of the languages at p, without removed documents.
func (s *segment) appendPostings(out []ranking.Posting, list []byte, p termPlace) []ranking.Posting {
	from := len(out)
	out = ranking.AppendPostings(slices.Grow(out, p.entry.df), list, p.entry.df, len(s.lens))
	if p.langs != 0 || s.hasRemoved() {
		kept := out[:from]
		for _, k := range out[from:] {
			if d := s.docOf[k.At]; (p.langs == 0 || p.langs>>s.docs[d].lang&1 != 0) && !s.dead.isSet(int(d)) {
				kept = append(kept, k)
			}
		}
		out = kept
	}
	if from > 0 {
		out = combinePostings(out)
	}
	return out
}

func combinePostings(list []ranking.Posting) []ranking.Posting {
	slices.SortFunc(list, func(a, b ranking.Posting) int { return int(a.At) - int(b.At) })
	out := list[:0]
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].At == p.At {
			out[n-1].Freq = min(out[n-1].Freq+p.Freq, math.MaxUint8)
			continue
		}
		out = append(out, p)
	}
	return out
}

func (g *group) countPassages(v *view) {
	g.df = 0
	for _, l := range g.lists {
		g.df += len(l)
	}
	g.idf = ranking.Rarity(float64(v.passages), float64(g.df))
}

// fetchBlobs reads rows of postings into blobs and the cache.
func (x *Index) fetchBlobs(ctx context.Context, tx *sql.Tx, keys []chunkKey, blobs map[int64][]byte) error {
	ids := make([]int64, len(keys))
	for i, k := range keys {
		ids[i] = k.id
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, maxFetch) {
		if err := x.fetchPart(ctx, tx, part, blobs); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if data := blobs[k.id]; data != nil {
			x.cache.put(k, data)
		}
	}
	return nil
}

func (x *Index) fetchPart(ctx context.Context, tx *sql.Tx, ids []int64, out map[int64][]byte) error {
	i := 0
	for 1<<i < len(ids) {
		i++
	}
	args := make([]any, 1<<i)
	for j := range args {
		args[j] = ids[min(j, len(ids)-1)]
	}
	rows, err := tx.StmtContext(ctx, x.fetch[i]).QueryContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
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
		out[id] = data
	}
	return rows.Err()
}

func (m *merger) mergePostings(ctx context.Context) error {
	readers := make([]*postingReader, len(m.in))
	for i, s := range m.in {
		readers[i] = &postingReader{x: m.x, s: s}
	}
	var list []ranking.Posting
	var buf []byte
	n := 0
	for terms := range mergeTerms(m.in) {
		if n++; n%64 == 0 {
			runtime.Gosched() // let searches run
		}
		list = list[:0]
		written := false
		for _, t := range terms {
			data, err := readers[t.segment].readPostings(ctx, t.entry)
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
		if err := m.terms.addTerm(terms[0].term, len(list), written, len(buf)); err != nil {
			return err
		}
	}
	return m.terms.flush()
}

type segmentTerm struct {
	term    string
	segment int
	entry   termEntry
}

// A postingReader reads the postings of a segment in order.
type postingReader struct {
	x    *Index
	s    *segment
	from int // first chunk in data
	data []byte
}

const readAhead = 16

// readPostings returns postings that are valid until the next call.
func (r *postingReader) readPostings(ctx context.Context, e termEntry) ([]byte, error) {
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
		if n, err := r.fillChunks(ctx, next); err != nil || n == 0 {
			return nil, cmp.Or(err, errDamaged)
		}
	}
}

func (r *postingReader) fillChunks(ctx context.Context, next int) (n int, err error) {
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

// mergeTerms yields the terms of segments in order, each with all its segments.
func mergeTerms(in []*segment) func(yield func([]segmentTerm) bool) {
	return func(yield func([]segmentTerm) bool) {
		var heads []*termHead
		for i, s := range in {
			if h := newHead(i, s.terms); h.next() {
				heads = append(heads, h)
			}
		}
		order := func(a, b *termHead) int { return cmp.Or(cmp.Compare(a.term, b.term), a.segment-b.segment) }
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
			moved := append([]*termHead(nil), heads[:n]...)
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

type termHead struct {
	segment int
	d       *dictionary
	page    int
	c       cursor
	at      int64
	key     []byte
	term    string
	entry   termEntry
}

func newHead(segment int, d *dictionary) *termHead {
	h := &termHead{segment: segment, d: d}
	h.openPage()
	return h
}

func (h *termHead) openPage() {
	if h.page < len(h.d.pages) {
		h.c, h.at = cursor{data: h.d.pages[h.page].data}, h.d.pages[h.page].at
	}
}

func (h *termHead) next() bool {
	for h.c.atEnd() {
		if h.page++; h.page >= len(h.d.pages) {
			return false
		}
		h.openPage()
	}
	shared := h.c.readInt(len(h.key))
	h.key = append(h.key[:shared], h.c.readBytes()...)
	df, size := h.c.readInt(maxPostings), h.c.readInt(maxPostings)
	h.term = string(h.key)
	h.entry = termEntry{df >> 1, df&1 != 0, h.at, size}
	h.at += int64(size)
	return !h.c.damaged
}
