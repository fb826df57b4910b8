package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"maps"
	"strings"
	"sync"
)

const (
	metaSize  = 32 << 10
	pageSize  = 3_900   // fits on a page of SQLite
	chunkSize = 8 << 10 // postings
)

const (
	metaKind = iota
	termKind
	postingKind
)

func blobID(segment int64, kind, n int) int64 { return segment<<30 | int64(kind)<<28 | int64(n) }

func blobSegment(blob int64) int64 { return blob >> 30 }

// A cursor decodes numbers and strings. Damaged data reads as zeros and sets bad.
type cursor struct {
	data    []byte
	at      int
	damaged bool
}

func (c *cursor) atEnd() bool { return c.at >= len(c.data) || c.damaged }

func (c *cursor) readUint() uint64 {
	if c.at < len(c.data) && c.data[c.at] < 0x80 {
		c.at++
		return uint64(c.data[c.at-1])
	}
	return c.readLongUint()
}

func (c *cursor) readLongUint() uint64 {
	v, n := binary.Uvarint(c.data[c.at:])
	if n <= 0 {
		c.damaged, c.at = true, len(c.data)
		return 0
	}
	c.at += n
	return v
}

func (c *cursor) readInt(limit int) int {
	v := c.readUint()
	if v > uint64(limit) {
		c.damaged, c.at = true, len(c.data)
		return 0
	}
	return int(v)
}

func (c *cursor) readSigned() int64 {
	v := c.readUint()
	return int64(v>>1) ^ -int64(v&1)
}

func (c *cursor) readBytes() []byte {
	n := c.readInt(len(c.data))
	if n > len(c.data)-c.at {
		c.damaged, c.at, n = true, len(c.data), 0
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

// A bitset has a bit for each document of a segment; missing bytes are zero.
type bitset []byte

func (s bitset) isSet(i int) bool { return i>>3 < len(s) && s[i>>3]&(1<<(i&7)) != 0 }

func (s bitset) setBits(list ...int) bitset {
	out := append(bitset(nil), s...)
	for _, i := range list {
		for len(out) <= i>>3 {
			out = append(out, 0)
		}
		out[i>>3] |= 1 << (i & 7)
	}
	return out
}

// maxCached limits the cached postings, in bytes.
const maxCached = 16 << 20

// A chunkKey identifies a row of postings after a purge. Its data never changes.
type chunkKey struct {
	id     int64
	purged int64
}

// A cache keeps recent rows of postings in two generations, since reading a row takes
// longer than decoding most words. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	young map[chunkKey][]byte // this generation
	old   map[chunkKey][]byte // the generation before
	size  int                 // of young
}

// get returns a row or nil. Do not change it.
func (c *cache) get(k chunkKey) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if data := c.young[k]; data != nil {
		return data
	}
	data := c.old[k]
	if data != nil {
		c.storeRow(k, data)
	}
	return data
}

// put stores a row. When young fills half of maxCached, it becomes old.
func (c *cache) put(k chunkKey, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.storeRow(k, data)
}

func (c *cache) storeRow(k chunkKey, data []byte) {
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

// dropStale drops rows that the view lacks: erased words must not stay in memory.
func (c *cache) dropStale(v *view) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rows := range []map[chunkKey][]byte{c.young, c.old} {
		maps.DeleteFunc(rows, func(k chunkKey, _ []byte) bool {
			s := v.findSegment(blobSegment(k.id))
			return s == nil || s.purged != k.purged
		})
	}
	c.size = 0
	for _, data := range c.young {
		c.size += len(data)
	}
}

type inserter struct {
	query   string
	columns int
	many    *sql.Stmt
	args    []any
}

const insertMany = 16

func (i *inserter) addRow(ctx context.Context, x *Index, tx *sql.Tx, args ...any) (err error) {
	i.args = append(i.args, args...)
	if len(i.args) < insertMany*i.columns {
		return nil
	}
	if i.many == nil {
		if i.many, err = tx.PrepareContext(ctx, x.db.Bind(i.insertQuery(insertMany))); err != nil {
			return err
		}
	}
	_, err = i.many.ExecContext(ctx, i.args...)
	i.args = i.args[:0]
	return err
}

func (i *inserter) insertQuery(n int) string {
	row := "(?" + strings.Repeat(", ?", i.columns-1) + ")"
	return i.query + row + strings.Repeat(", "+row, n-1)
}

func (i *inserter) flush(ctx context.Context, x *Index, tx *sql.Tx) error {
	if len(i.args) == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, x.db.Bind(i.insertQuery(len(i.args)/i.columns)), i.args...)
	i.args = i.args[:0]
	return err
}

func (i *inserter) close() {
	if i.many != nil {
		i.many.Close()
	}
}

type blobWriter struct {
	x       *Index
	segment int64
	open    [postingKind + 1][]byte // not yet a row, by kind
	next    [postingKind + 1]int
	rows    []blobRow
	size    int
}

type blobRow struct {
	id   int64
	data []byte
}

func newBlobWriter(x *Index, segment int64) *blobWriter { return &blobWriter{x: x, segment: segment} }

func (w *blobWriter) addRow(kind int, data []byte) {
	w.rows = append(w.rows, blobRow{blobID(w.segment, kind, w.next[kind]), data})
	w.next[kind]++
	w.size += len(data)
}

// write appends to the text of a kind, which rows divide.
func (w *blobWriter) write(kind int, data []byte) {
	size := chunkSize
	if kind == metaKind {
		size = metaSize
	}
	for len(w.open[kind])+len(data) >= size {
		n := size - len(w.open[kind])
		row := make([]byte, 0, size)
		w.addRow(kind, append(append(row, w.open[kind]...), data[:n]...))
		w.open[kind], data = w.open[kind][:0], data[n:]
	}
	w.open[kind] = append(w.open[kind], data...)
}

// flush writes complete rows, and at the end all.
func (w *blobWriter) flush(ctx context.Context, tx *sql.Tx, end bool) error {
	for kind, data := range w.open {
		if end && len(data) > 0 {
			w.addRow(kind, data)
			w.open[kind] = nil
		}
	}
	in := inserter{query: `INSERT INTO index_blob (id, data) VALUES `, columns: 2}
	defer in.close()
	for _, r := range w.rows {
		if err := in.addRow(ctx, w.x, tx, r.id, r.data); err != nil {
			return err
		}
	}
	w.rows, w.size = w.rows[:0], 0
	return in.flush(ctx, w.x, tx)
}
