package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"maps"
	"strings"
	"sync"
)

// Sizes of the rows that a segment is in, in bytes.
const (
	metaSize  = 32 << 10 // documents
	pageSize  = 3_900    // terms: fits on a page of SQLite's
	chunkSize = 8 << 10  // postings
)

// What a row of index_blob holds.
const (
	metaKind = iota
	termKind
	postingKind
)

// blobID returns the id of a row of index_blob.
func blobID(segment int64, kind, n int) int64 { return segment<<30 | int64(kind)<<28 | int64(n) }

// segmentOf returns the segment that a row is of.
func segmentOf(blob int64) int64 { return blob >> 30 }

// A cursor reads numbers and strings. What is cut short or wrong reads as zeros
// and sets bad.
type cursor struct {
	data []byte
	at   int
	bad  bool
}

func (c *cursor) done() bool { return c.at >= len(c.data) || c.bad }

func (c *cursor) uint() uint64 {
	if c.at < len(c.data) && c.data[c.at] < 0x80 {
		c.at++
		return uint64(c.data[c.at-1])
	}
	return c.long()
}

// long reads a number of more than a byte.
func (c *cursor) long() uint64 {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.bad, c.at = true, len(c.data)
		return 0
	}
	c.at += n
	return v
}

// int reads a number that is not negative and no more than most.
func (c *cursor) int(most int) int {
	v := c.uint()
	if v > uint64(most) {
		c.bad, c.at = true, len(c.data)
		return 0
	}
	return int(v)
}

func (c *cursor) signed() int64 {
	v := c.uint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *cursor) bytes() []byte {
	n := c.int(len(c.data))
	if n > len(c.data)-c.at {
		c.bad, c.at, n = true, len(c.data), 0
	}
	out := c.data[c.at : c.at+n]
	c.at += n
	return out
}

func appendSigned(b []byte, v int64) []byte {
	return binary.AppendUvarint(b, uint64(v)<<1^uint64(v>>63))
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// A bitset has a bit for each document of a segment. One that is short has
// zeros.
type bitset []byte

func (s bitset) has(i int) bool { return i>>3 < len(s) && s[i>>3]&(1<<(i&7)) != 0 }

// with returns a copy with more bits set.
func (s bitset) with(list ...int) bitset {
	out := append(bitset(nil), s...)
	for _, i := range list {
		for len(out) <= i>>3 {
			out = append(out, 0)
		}
		out[i>>3] |= 1 << (i & 7)
	}
	return out
}

// maxCached is how many bytes of postings are kept at hand.
const maxCached = 16 << 20

// A chunkKey is a row of postings as it was after a purge. It never changes.
type chunkKey struct {
	id     int64 // of the row
	purged int64 // of its segment
}

// A cache has rows of postings that were read of late: to read a row takes longer
// than to read the postings of most words out of it. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	young map[chunkKey][]byte // since the last turn
	old   map[chunkKey][]byte // of the turn before
	size  int                 // of young
}

// get returns a row; nil if it is not there. Nobody may change it.
func (c *cache) get(k chunkKey) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data := c.young[k]; data != nil {
		return data
	}
	data := c.old[k]
	if data != nil {
		c.keep(k, data)
	}
	return data
}

// put keeps a row. When half of the room is taken by new ones, what was not asked
// for since the last time goes.
func (c *cache) put(k chunkKey, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(k, data)
}

func (c *cache) keep(k chunkKey, data []byte) {
	if c.size+len(data) > maxCached/2 {
		c.old, c.young, c.size = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[chunkKey][]byte)
	}
	if c.young[k] == nil {
		c.size += len(data)
	}
	c.young[k] = data
}

// only drops the rows of segments that are not of a view any more, or not as they
// are in it: what was erased must not stay in memory.
func (c *cache) only(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rows := range []map[chunkKey][]byte{c.young, c.old} {
		maps.DeleteFunc(rows, func(k chunkKey, _ []byte) bool {
			s := v.segment(segmentOf(k.id))
			return s == nil || s.purged != k.purged
		})
	}
	c.size = 0
	for _, data := range c.young {
		c.size += len(data)
	}
}

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
