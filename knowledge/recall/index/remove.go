package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// purgeTerms is how many terms a row of index_purge has.
const purgeTerms = 256

// Remove removes documents in the caller's transaction: their texts at once,
// their words from the index when [Index.Merge] comes to it. Until then they are
// in no row that is read. Documents that the index does not have are nothing.
func (x *Index) Remove(ctx context.Context, tx *sql.Tx, ids ...int64) error {
	if len(ids) == 0 {
		return nil
	}
	if err := x.remove(ctx, tx, ids); err != nil {
		return fmt.Errorf("remove %d documents from the index: %w", len(ids), err)
	}
	return nil
}

// A removal is what is removed of a segment.
type removal struct {
	docs  []int // their numbers
	terms *analyzer
}

func (x *Index) remove(ctx context.Context, tx *sql.Tx, ids []int64) error {
	v, err := x.inside(ctx, tx)
	if err != nil {
		return err
	}
	found := map[*segment]*removal{}
	var order []*segment
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		doc, lang, err := x.doc(ctx, tx, id, 0)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		s, n := v.find(id)
		if s == nil {
			return fmt.Errorf("document %d: %w", id, errDamaged)
		}
		if found[s] == nil {
			found[s] = &removal{terms: newAnalyzer(x.readings)}
			order = append(order, s)
		}
		found[s].docs = append(found[s].docs, n)
		found[s].terms.add(doc, lang)
		if err := x.deleteDoc(ctx, tx, id, s.docs[n]); err != nil {
			return err
		}
	}
	for _, s := range order {
		if err := x.bury(ctx, tx, s, found[s]); err != nil {
			return err
		}
	}
	return nil
}

// find returns the segment of a document and its number there, or nil.
func (v *view) find(id int64) (*segment, int) {
	for _, s := range v.segments {
		if n := s.find(id); n >= 0 {
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

// bury marks documents of a segment as dead, and notes the terms they had.
func (x *Index) bury(ctx context.Context, tx *sql.Tx, s *segment, r *removal) error {
	slices.Sort(r.terms.terms)
	lists := slices.Collect(slices.Chunk(r.terms.terms, purgeTerms))
	st, err := x.advance(ctx, tx, state{purge: int64(len(lists))})
	if err != nil {
		return err
	}
	const update = `UPDATE index_segment SET dead = ?, changed = ?, purges = purges + ? WHERE id = ?`
	if _, err := tx.ExecContext(ctx, x.db.Bind(update), []byte(s.dead.with(r.docs...)), st.version, len(lists), s.id); err != nil {
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
