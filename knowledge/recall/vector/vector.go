// Package vector keeps a vector for each passage, as an embedding model makes
// them, and finds the passages whose vectors point where that of a query does. It
// knows passages by their numbers only.
//
// [Vectors.Put] and [Vectors.Remove] work in the transaction of whoever writes the
// passages. [Vectors.Fill] does in the background what is missing, from batch to
// batch, and changes from one model to another while [Vectors.Search] works with
// the old one; [Vectors.Serving] says which that is. [Fuse] joins what is found
// with a ranking by words, each as much as [Weight] says.
//
// A search compares the query with every vector there is: eight bits of each
// coordinate by way of AVX2 where the processor has it, on all cores, then twelve
// bits of the best. For 384 coordinates that is what exact search finds, in 8 ms
// among 200,000 vectors, which take 111 MiB of memory. They are read at the first
// search; later ones read the blocks that any process has changed since.
//
// # Stored form
//
// The table vector_model has a row for each model, vector_block one for each 64
// passages in a row, which share all but the last six bits of their number. The
// bits of its column present say which of them have a vector. The data of n
// vectors is n times stride bytes of codes, n times half as many of rests, and n
// scales as little-endian float32; stride is the length of a vector, rounded up to
// 32 with zeros. A coordinate of the vector, which has length 1, is
//
//	scale * (16*code + rest - 8)
//
// where the code is from -127 to 127 and the rest from 0 to 15, four bits, of which
// even coordinates have the lower half of a byte. A block without vectors stays as
// an empty row, so that other processes see that it changed.
package vector

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var scripts embed.FS

// What goes wrong with vectors.
var (
	// ErrLength says that a vector is not as long as the others of its model.
	ErrLength = errors.New("vector is of another length")

	// ErrText is what an [Embedder] wraps in its error if the texts are what is
	// wrong, so that there is no use in trying again.
	ErrText = errors.New("text cannot be embedded")
)

// An Embedder makes vectors of texts.
type Embedder struct {
	// Model names the vectors: those of different models do not compare.
	Model string

	// Embed returns a vector for each text.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)

	// Batch is how many texts Embed is given at once. Zero is 64.
	Batch int
}

// Vectors is the vectors in a database. It is safe for concurrent use, also by
// several processes on one database.
type Vectors struct {
	db sqldb.DB

	mu     sync.Mutex
	caches map[string]*cache // by model
}

// Open returns the vectors in a database and makes the tables if there are none.
// It reads no vectors yet.
func Open(ctx context.Context, db sqldb.DB) (*Vectors, error) {
	dir, err := fs.Sub(scripts, "schema")
	if err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	if err := db.Migrate(ctx, "vector", dir); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	return &Vectors{db: db, caches: map[string]*cache{}}, nil
}

// A snapshot is the vectors of a model at some version. It does not change.
type snapshot struct {
	modelRow
	blocks []*block // that have vectors, by number
}

// A cache keeps the newest snapshot of a model that was asked for.
type cache struct {
	newest  atomic.Pointer[snapshot]
	reading chan struct{} // has room for whoever reads blocks
}

// snapshot returns the vectors of a model as they are now; nil if there are none.
func (v *Vectors) snapshot(ctx context.Context, model string) (*snapshot, error) {
	m, err := v.model(ctx, model)
	if err != nil {
		return nil, err
	}
	if m.num == 0 {
		v.forget(model)
		return nil, nil
	}
	c := v.cacheOf(model)
	if s := c.newest.Load(); s.current(m) {
		return s, nil
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s := c.newest.Load()
	if s.current(m) { // another has read it meanwhile
		return s, nil
	}
	if s == nil || s.num != m.num {
		s = new(snapshot)
	}
	if s, err = v.read(ctx, s, m); err == nil {
		c.newest.Store(s)
	}
	return s, err
}

// current reports whether the snapshot has what the model has.
func (s *snapshot) current(m modelRow) bool {
	return s != nil && s.num == m.num && s.version >= m.version
}

func (v *Vectors) cacheOf(model string) *cache {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.caches[model]
	if c == nil {
		c = &cache{reading: make(chan struct{}, 1)}
		v.caches[model] = c
	}
	return c
}

func (v *Vectors) forget(model string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.caches, model)
}

// read returns a snapshot of a model made of an older one and what has changed
// since. The version read before the blocks is one that they at least have.
func (v *Vectors) read(ctx context.Context, old *snapshot, m modelRow) (*snapshot, error) {
	query := `SELECT block, present, data FROM vector_block WHERE model = ? AND version > ?`
	if old.version == 0 {
		query = `SELECT block, present, data FROM vector_block WHERE model = ? AND present <> ? ORDER BY block`
	}
	rows, err := v.db.Read.QueryContext(ctx, v.db.Bind(query), m.num, old.version)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	s := &snapshot{modelRow: m, blocks: slices.Clone(old.blocks)}
	var data sql.RawBytes
	for rows.Next() {
		var num, present int64
		if err := rows.Scan(&num, &present, &data); err != nil {
			return nil, err
		}
		b, err := decode(num, uint64(present), data, stride(m.length))
		if err != nil {
			return nil, err
		}
		s.set(b)
	}
	return s, rows.Err()
}

// set puts a block into a snapshot that is being made.
func (s *snapshot) set(b *block) {
	i, found := slices.BinarySearchFunc(s.blocks, b.num, func(b *block, num int64) int { return cmp.Compare(b.num, num) })
	switch {
	case found && b.present == 0:
		s.blocks = slices.Delete(s.blocks, i, i+1)
	case found:
		s.blocks[i] = b
	case b.present != 0:
		s.blocks = slices.Insert(s.blocks, i, b)
	}
}

// What a block is made of.
const (
	blockBits = 6
	blockSize = 1 << blockBits
	unit      = 32   // coordinates that a scan takes at once
	steps     = 16   // of a rest
	most      = 2032 // of 16*code + rest - 8
	maxLength = 1 << 14
)

// A block is the vectors of up to 64 passages. It does not change.
type block struct {
	num     int64
	present uint64
	codes   []byte // stride of each
	rests   []byte // stride/2 of each
	scales  []float32
}

// A row is a vector as a block has it.
type row struct {
	codes, rests []byte
	scale        float32
}

// stride is how many coordinates are kept of vectors of some length.
func stride(length int) int { return (length + unit - 1) / unit * unit }

// blockOf returns the block of a passage, and its bit there.
func blockOf(passage int64) (num int64, bit int) {
	return passage >> blockBits, int(passage & (blockSize - 1))
}

func (b *block) passage(row int) int64 {
	rest := b.present
	for range row {
		rest &= rest - 1
	}
	return b.num<<blockBits | int64(bits.TrailingZeros64(rest))
}

// row returns a row. It must not be changed.
func (b *block) row(i, stride int) row {
	return row{b.codes[i*stride:][:stride], b.rests[i*stride/2:][:stride/2], b.scales[i]}
}

// with returns the block with some rows, by bit, set, and those of other bits
// left as they are. A row without codes is taken out.
func (b *block) with(rows map[int]row, stride int) *block {
	out := &block{num: b.num}
	old := 0
	for bit := range blockSize {
		r, set := rows[bit]
		if b.present>>bit&1 == 1 {
			if !set {
				r = b.row(old, stride)
			}
			old++
		}
		if r.codes == nil {
			continue
		}
		out.present |= 1 << bit
		out.codes = append(out.codes, r.codes...)
		out.rests = append(out.rests, r.rests...)
		out.scales = append(out.scales, r.scale)
	}
	return out
}

// encode returns the stored form of the block.
func (b *block) encode() []byte {
	out := make([]byte, 0, len(b.codes)+len(b.rests)+4*len(b.scales))
	out = append(append(out, b.codes...), b.rests...)
	for _, s := range b.scales {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(s))
	}
	return out
}

// decode reads the stored form of a block, of which it keeps nothing.
func decode(num int64, present uint64, data []byte, stride int) (*block, error) {
	n := bits.OnesCount64(present)
	if len(data) != n*(stride+stride/2+4) {
		return nil, fmt.Errorf("block %d: %d bytes are not %d vectors of %d", num, len(data), n, stride)
	}
	b := &block{num: num, present: present, scales: make([]float32, n)}
	b.codes = append(make([]byte, 0, n*stride), data[:n*stride]...)
	b.rests = append(make([]byte, 0, n*stride/2), data[n*stride:][:n*stride/2]...)
	for i := range b.scales {
		b.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[n*(stride+stride/2)+4*i:]))
	}
	return b, nil
}

// quantise returns a vector, made one of length 1, as a block has it.
func quantise(v []float32) (row, error) {
	norm, largest, err := measure(v)
	if err != nil {
		return row{}, err
	}
	n := stride(len(v))
	r := row{codes: make([]byte, n), rests: make([]byte, n/2)}
	for i := range r.rests {
		r.rests[i] = steps/2 | steps/2<<4
	}
	if norm == 0 {
		return r, nil
	}
	r.scale = float32(largest / norm / most)
	for i, x := range v {
		whole := int(math.RoundToEven(float64(x) / largest * most))
		code := (whole + steps/2) >> 4
		rest := whole - code*steps + steps/2
		r.codes[i] = byte(int8(code))
		shift := i & 1 * 4
		r.rests[i/2] = r.rests[i/2]&^(0xf<<shift) | byte(rest)<<shift
	}
	return r, nil
}

// measure returns the length of a vector and its largest coordinate.
func measure(v []float32) (norm, largest float64, err error) {
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0, 0, fmt.Errorf("coordinate %d is %v", i, x)
		}
		norm += f * f
		largest = max(largest, math.Abs(f))
	}
	return math.Sqrt(norm), largest, nil
}

// dot returns the product of a row and a vector, which may be shorter.
func (r row) dot(v []float32) float64 {
	var even, odd float32
	for i := 0; i+1 < len(v); i += 2 {
		b := r.rests[i/2]
		even += v[i] * float32(int(int8(r.codes[i]))*steps+int(b&0xf)-steps/2)
		odd += v[i+1] * float32(int(int8(r.codes[i+1]))*steps+int(b>>4)-steps/2)
	}
	if i := len(v) - 1; i&1 == 0 {
		even += v[i] * float32(int(int8(r.codes[i]))*steps+int(r.rests[i/2]&0xf)-steps/2)
	}
	return float64(even+odd) * float64(r.scale)
}
