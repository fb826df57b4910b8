package index

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var schema embed.FS

var errDamaged = errors.New("damaged")

// An Index finds passages of documents by their words. It is safe for concurrent
// use, and so are several on one database.
type Index struct {
	db      sqldb.DB
	clock   func() time.Time
	version *sql.Stmt
	fetch   []*sql.Stmt // reads 1, 2, 4, ... rows of index_blob
	scores  sync.Pool

	statements sqldb.Statements
	cache      cache

	readings *readings

	merging sync.Mutex // held by the one that merges

	mu    sync.Mutex
	view  *view              // the newest that was seen
	ready map[int64]*segment // made here, and not yet seen
}

// Open opens the index of a database, and makes its tables if there are none.
// Where nothing can be written, one that is there can be searched.
func Open(ctx context.Context, db sqldb.DB) (*Index, error) {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, "index", scripts); err != nil {
		return nil, err
	}
	x := &Index{db: db, clock: time.Now, view: &view{version: -1}, ready: map[int64]*segment{}, readings: newReadings()}
	if err := x.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	err = x.reading(ctx, func(*sql.Tx, *view) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

// maxFetch is the most rows that are read at a time.
const maxFetch = 256

// prepare prepares what every search asks.
func (x *Index) prepare(ctx context.Context) (err error) {
	if x.version, err = x.db.Read.PrepareContext(ctx, `SELECT version FROM index_state WHERE one = 1`); err != nil {
		return err
	}
	for n := 1; n <= maxFetch; n *= 2 {
		query := `SELECT id, data FROM index_blob WHERE id IN (?` + strings.Repeat(", ?", n-1) + `)`
		stmt, err := x.db.Read.PrepareContext(ctx, x.db.Bind(query)) //nolint:sqlclosecheck // lives as long as the database
		if err != nil {
			return err
		}
		x.fetch = append(x.fetch, stmt)
	}
	return nil
}

// A view is the segments of one version of the index. It is never changed.
type view struct {
	version  int64
	segments []*segment // by id
	passages int        // that were not removed
	docs     int
	length   int64
	langs    [maxLanguages]int // passages by language
}

// reading calls do with the newest view, in a transaction that sees what the
// view is of.
func (x *Index) reading(ctx context.Context, do func(tx *sql.Tx, v *view) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if x.db.Numbered {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := x.db.Read.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := x.see(ctx, tx)
	if err != nil {
		return err
	}
	return do(tx, v)
}

// see returns the view that a reading transaction sees.
func (x *Index) see(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.StmtContext(ctx, x.version).QueryRowContext(ctx).Scan(&version); err != nil { //nolint:sqlclosecheck // ends with the transaction
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view.version == version {
		return x.view, nil
	}
	v, err := x.refresh(ctx, tx, version, x.ready)
	if err == nil && version > x.view.version {
		x.view = v
		x.cache.only(v)
		for _, s := range v.segments {
			delete(x.ready, s.id)
		}
	}
	return v, err
}

// refresh makes the view that a transaction sees, of what is known already. The
// caller holds the lock.
func (x *Index) refresh(ctx context.Context, q queryer, version int64, ready map[int64]*segment) (*view, error) {
	list, err := x.segments(ctx, q)
	if err != nil {
		return nil, err
	}
	v := &view{version: version}
	for _, row := range list {
		old := x.view.segment(row.id)
		if old == nil {
			old = ready[row.id]
		}
		s := old
		if old == nil || old.changed != row.changed || old.purged != row.purged || old.purges != row.purges {
			if s, err = x.load(ctx, q, row, old); err != nil {
				return nil, err
			}
		}
		v.add(s)
	}
	return v, nil
}

// segments returns the segments that are searched, without their dead.
func (x *Index) segments(ctx context.Context, q queryer) (list []segmentRow, err error) {
	rows, err := q.QueryContext(ctx, `SELECT id, changed, purged, purges, first FROM index_segment WHERE state = 1 ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r segmentRow
		if err := rows.Scan(&r.id, &r.changed, &r.purged, &r.purges, &r.first); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func (v *view) add(s *segment) {
	v.segments = append(v.segments, s)
	v.passages += s.live
	v.docs += s.liveDocs
	v.length += s.length
	for i, n := range s.langs {
		v.langs[i] += n
	}
}

// segment returns a segment, or nil.
func (v *view) segment(id int64) *segment {
	i, ok := slices.BinarySearchFunc(v.segments, id, func(s *segment, id int64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	return v.segments[i]
}

// inside returns the view that a writing transaction sees, with its own changes.
// It is not kept, for those may be rolled back.
func (x *Index) inside(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.QueryRowContext(ctx, `SELECT version FROM index_state WHERE one = 1`).Scan(&version); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refresh(ctx, tx, version, nil)
}

// Stats says what is in the index.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	err := x.reading(ctx, func(_ *sql.Tx, v *view) error {
		out = Stats{Docs: v.docs, Passages: v.passages, Segments: len(v.segments)}
		var order []int
		for i, n := range v.langs {
			if n > 0 {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v.langs[b], v.langs[a]) })
		for _, i := range order {
			out.Languages = append(out.Languages, languages[i])
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count what is in the index: %w", err)
	}
	return out, nil
}
