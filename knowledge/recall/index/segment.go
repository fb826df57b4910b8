package index

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A segment is what is known of one without its postings. It is never changed: a
// new one with the same parts takes its place when documents of it are removed.
type segment struct {
	segmentRow

	docs  []docMeta
	docOf []int32  // of each passage
	lens  []uint16 // of each passage
	terms *dictionary
	byID  *lookup

	live, liveDocs int // what was not removed
	length         int64
	langs          [maxLanguages]int // passages that are left by language
}

// A segmentRow is its row of index_segment.
type segmentRow struct {
	id              int64
	changed, purged int64
	purges          int
	first           int64
	dead            bitset
}

// dirty reports whether postings may have passages that were removed.
func (s *segment) dirty() bool { return s.purges > 0 }

// A lookup finds documents of a segment by their id.
type lookup struct {
	once  sync.Once
	order []int32
}

// find returns the number of a document that was not removed, or -1.
func (s *segment) find(id int64) int {
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
		if n := int(order[i]); !s.dead.has(n) {
			return n
		}
	}
	return -1
}

// count finds out what is left.
func (s *segment) count() {
	s.live, s.liveDocs, s.length = 0, 0, 0
	clear(s.langs[:])
	for i := range s.docs {
		if s.dead.has(i) {
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

// A queryer is a database or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// load reads a segment. What old has of it, which may be nil, is used again.
func (x *Index) load(ctx context.Context, q queryer, row segmentRow, old *segment) (*segment, error) {
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
	s.count()
	return s, nil
}

func (x *Index) loadDocs(ctx context.Context, q queryer, s *segment) error {
	var all strings.Builder
	err := x.blobs(ctx, q, s.id, metaKind, func(_ int, data []byte) error {
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
	s.index()
	return nil
}

// index finds out which document each passage is of.
func (s *segment) index() {
	s.byID = new(lookup)
	s.docOf = make([]int32, len(s.lens))
	for i, d := range s.docs {
		for j := d.at; j < d.at+d.n; j++ {
			s.docOf[j] = int32(i)
		}
	}
}

func (x *Index) loadTerms(ctx context.Context, q queryer, s *segment) error {
	s.terms = new(dictionary)
	return x.blobs(ctx, q, s.id, termKind, func(n int, data []byte) error {
		if p, ok := newTermPage(n, data); ok {
			s.terms.pages = append(s.terms.pages, p)
		}
		return nil
	})
}

// blobs calls yield with the parts of a segment that are of a kind, in order.
// Yield may keep them.
func (x *Index) blobs(ctx context.Context, q queryer, segment int64, kind int, yield func(n int, data []byte) error) error {
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
