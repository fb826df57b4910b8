package index

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sync"

	"ponder/internal/textkit/ranking"
)

// A place is where the postings of a term are.
type place struct {
	segment int
	langs   uint32
	entry   termEntry
}

// fetch reads the postings of groups.
func (x *Index) fetchGroups(ctx context.Context, tx *sql.Tx, v *view, groups []*group) error {
	places := make([][]place, len(groups))
	_ = together(len(groups), func(i int) error {
		places[i] = v.places(groups[i])
		return nil
	})
	blobs, err := x.chunks(ctx, tx, v, places)
	if err != nil {
		return err
	}
	return together(len(groups), func(i int) error { return groups[i].read(v, places[i], blobs) })
}

// together has n things done on all processors at once, and returns an error of them.
func together(n int, do func(i int) error) error {
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

// places returns where the postings of a group are.
func (v *view) places(g *group) (list []place) {
	for _, t := range g.terms {
		for i, s := range v.segments {
			if e, ok := s.terms.find(t.term); ok && e.df > 0 {
				list = append(list, place{i, t.langs, e})
			}
		}
	}
	return list
}

// chunks returns the rows that postings are in, by their ids.
func (x *Index) chunks(ctx context.Context, tx *sql.Tx, v *view, groups [][]place) (map[int64][]byte, error) {
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

// read reads the postings of a group.
func (g *group) read(v *view, places []place, blobs map[int64][]byte) error {
	g.lists = make([][]ranking.Posting, len(v.segments))
	for _, p := range places {
		s := v.segments[p.segment]
		list, err := s.list(p.entry, blobs)
		if err != nil {
			return err
		}
		g.lists[p.segment] = s.append(g.lists[p.segment], list, p)
	}
	g.count(v)
	return nil
}

// list returns the postings of a term as they are stored.
func (s *segment) list(e termEntry, blobs map[int64][]byte) ([]byte, error) {
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

// append appends the postings of a list that count.
func (s *segment) append(out []ranking.Posting, list []byte, p place) []ranking.Posting {
	from := len(out)
	out = ranking.AppendPostings(slices.Grow(out, p.entry.df), list, p.entry.df, len(s.lens))
	if p.langs != 0 || s.dirty() {
		kept := out[:from]
		for _, k := range out[from:] {
			if d := s.docOf[k.At]; (p.langs == 0 || p.langs>>s.docs[d].lang&1 != 0) && !s.dead.has(int(d)) {
				kept = append(kept, k)
			}
		}
		out = kept
	}
	if from > 0 {
		out = merged(out)
	}
	return out
}

// merged returns postings in order, those of a passage as one.
func merged(list []ranking.Posting) []ranking.Posting {
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

// count finds out how rare the word is.
func (g *group) count(v *view) {
	g.df = 0
	for _, l := range g.lists {
		g.df += len(l)
	}
	g.idf = ranking.Rarity(float64(v.passages), float64(g.df))
}

// fetchBlobs reads rows of postings into blobs, and keeps them at hand.
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
