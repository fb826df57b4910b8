package index

import (
	"context"
	"database/sql"
	"strings"
)

// An inserter inserts rows into a table, several at a time.
type inserter struct {
	query   string
	columns int
	many    *sql.Stmt
	args    []any
}

// insertMany is how many rows are inserted at a time.
const insertMany = 16

func (i *inserter) add(ctx context.Context, x *Index, tx *sql.Tx, args ...any) (err error) {
	i.args = append(i.args, args...)
	if len(i.args) < insertMany*i.columns {
		return nil
	}
	if i.many == nil {
		if i.many, err = tx.PrepareContext(ctx, x.db.Bind(i.values(insertMany))); err != nil {
			return err
		}
	}
	_, err = i.many.ExecContext(ctx, i.args...)
	i.args = i.args[:0]
	return err
}

// values returns the statement that inserts n rows.
func (i *inserter) values(n int) string {
	row := "(?" + strings.Repeat(", ?", i.columns-1) + ")"
	return i.query + row + strings.Repeat(", "+row, n-1)
}

// flush inserts what is left.
func (i *inserter) flush(ctx context.Context, x *Index, tx *sql.Tx) error {
	if len(i.args) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, x.db.Bind(i.values(len(i.args)/i.columns)), i.args...)
	i.args = i.args[:0]
	return err
}

func (i *inserter) close() {
	if i.many != nil {
		i.many.Close()
	}
}

// A blobWriter writes the rows of a segment.
type blobWriter struct {
	x       *Index
	segment int64
	open    [postingKind + 1][]byte // what is not yet a row, by kind
	next    [postingKind + 1]int
	rows    []blobRow
	size    int
}

type blobRow struct {
	id   int64
	data []byte
}

func newBlobWriter(x *Index, segment int64) *blobWriter { return &blobWriter{x: x, segment: segment} }

// row adds a row.
func (w *blobWriter) row(kind int, data []byte) {
	w.rows = append(w.rows, blobRow{blobID(w.segment, kind, w.next[kind]), data})
	w.next[kind]++
	w.size += len(data)
}

// write adds to the rows of a kind that are one text.
func (w *blobWriter) write(kind int, data []byte) {
	size := chunkSize
	if kind == metaKind {
		size = metaSize
	}
	for len(w.open[kind])+len(data) >= size {
		n := size - len(w.open[kind])
		row := make([]byte, 0, size)
		w.row(kind, append(append(row, w.open[kind]...), data[:n]...))
		w.open[kind], data = w.open[kind][:0], data[n:]
	}
	w.open[kind] = append(w.open[kind], data...)
}

// flush writes the rows that there are, or all if it is the end.
func (w *blobWriter) flush(ctx context.Context, tx *sql.Tx, end bool) error {
	for kind, data := range w.open {
		if end && len(data) > 0 {
			w.row(kind, data)
			w.open[kind] = nil
		}
	}
	in := inserter{query: `INSERT INTO index_blob (id, data) VALUES `, columns: 2}
	defer in.close()
	for _, r := range w.rows {
		if err := in.add(ctx, w.x, tx, r.id, r.data); err != nil {
			return err
		}
	}
	w.rows, w.size = w.rows[:0], 0
	return in.flush(ctx, w.x, tx)
}
