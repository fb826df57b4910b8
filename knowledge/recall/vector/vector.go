// Package vector stores embedding vectors of numbered passages and finds the nearest to
// a query's.
//
// [Vectors.Put] and [Vectors.Remove] work in the caller's transaction. [Vectors.Fill]
// embeds missing passages in the background and switches models while [Vectors.Search]
// uses the old one; [Vectors.ServingModel] returns it. [Fuse] joins results with a ranking
// by words, weighted by [Weight].
//
// A search compares all vectors on all cores: eight bits of each coordinate, with AVX2
// if available, then twelve bits of the best. For 384 coordinates this equals exact
// search, in 8 ms and 111 MiB for 200,000 vectors. The first search reads all vectors;
// later ones read changed blocks.
//
// # Stored form
//
// vector_model has a row per model, vector_block one per 64 passages with all but the
// last six bits in common. The bits of present tell which have a vector. Data has n
// times stride bytes of codes, half as many of rests, and n scales as little-endian
// float32. Stride is the length, rounded up to 32 with zeros. A coordinate of the unit
// vector is
//
//	scale * (16*code + rest - 8)
//
// Codes are from -127 to 127. Rests have four bits, even ones in the lower half of a
// byte. Empty blocks stay as rows, so that other processes see the change.
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

var (
	// ErrLength reports a vector of another length than its model's.
	ErrLength = errors.New("vector has a different length")

	// ErrText marks errors of an [Embedder] that the texts cause; retrying is useless.
	ErrText = errors.New("text cannot be embedded")
)

type Embedder struct {
	// Model names the vectors; those of different models are not comparable.
	Model string

	Embed func(ctx context.Context, texts []string) ([][]float32, error)

	// Batch is the number of texts per call, 64 if zero.
	Batch int
}

// Vectors is safe for concurrent use, also by several processes.
type Vectors struct {
	db sqldb.DB

	mu     sync.Mutex
	caches map[string]*cache
}

// Open creates the tables if needed. It reads no vectors.
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

// A snapshot is one version of a model. It is immutable.
type snapshot struct {
	modelRow
	blocks []*block
}

// A cache has the newest snapshot.
type cache struct {
	newest  atomic.Pointer[snapshot]
	reading chan struct{} // semaphore for reading blocks
}

// currentSnapshot returns the current vectors of a model, or nil.
func (v *Vectors) currentSnapshot(ctx context.Context, model string) (*snapshot, error) {
	m, err := v.readModel(ctx, model)
	if err != nil {
		return nil, err
	}
	if m.num == 0 {
		v.dropCache(model)
		return nil, nil
	}
	c := v.modelCache(model)
	if s := c.newest.Load(); s.isCurrent(m) {
		return s, nil
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s := c.newest.Load()
	if s.isCurrent(m) {
		return s, nil
	}
	if s == nil || s.num != m.num {
		s = new(snapshot)
	}
	if s, err = v.readSnapshot(ctx, s, m); err == nil {
		c.newest.Store(s)
	}
	return s, err
}

func (s *snapshot) isCurrent(m modelRow) bool {
	return s != nil && s.num == m.num && s.version >= m.version
}

func (v *Vectors) modelCache(model string) *cache {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.caches[model]
	if c == nil {
		c = &cache{reading: make(chan struct{}, 1)}
		v.caches[model] = c
	}
	return c
}

func (v *Vectors) dropCache(model string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.caches, model)
}

// readSnapshot returns a snapshot of old and all later changes. Since m is read before the
// blocks, they have at least its version.
func (v *Vectors) readSnapshot(ctx context.Context, old *snapshot, m modelRow) (*snapshot, error) {
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
		b, err := decodeBlock(num, uint64(present), data, paddedLength(m.length))
		if err != nil {
			return nil, err
		}
		s.setBlock(b)
	}
	return s, rows.Err()
}

func (s *snapshot) setBlock(b *block) {
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

const (
	blockBits  = 6
	blockSize  = 1 << blockBits
	lengthUnit = 32
	restSteps  = 16   // values of a rest
	maxCode    = 2032 // maximum of 16*code + rest - 8
	maxLength  = 1 << 14
)

// A block has up to 64 vectors. It is immutable.
type block struct {
	num     int64
	present uint64
	codes   []byte
	lowBits []byte
	scales  []float32
}

type row struct {
	codes, lowBits []byte
	scale          float32
}

func paddedLength(length int) int { return (length + lengthUnit - 1) / lengthUnit * lengthUnit }

func splitPassage(passage int64) (num int64, bit int) {
	return passage >> blockBits, int(passage & (blockSize - 1))
}

func (b *block) passageAt(row int) int64 {
	rest := b.present
	for range row {
		rest &= rest - 1
	}
	return b.num<<blockBits | int64(bits.TrailingZeros64(rest))
}

// rowAt returns slices that must not be changed.
func (b *block) rowAt(i, stride int) row {
	return row{b.codes[i*stride:][:stride], b.lowBits[i*stride/2:][:stride/2], b.scales[i]}
}

// withRows returns a copy with rows set by bit; rows without codes are removed.
func (b *block) withRows(rows map[int]row, stride int) *block {
	out := &block{num: b.num}
	old := 0
	for bit := range blockSize {
		r, set := rows[bit]
		if b.present>>bit&1 == 1 {
			if !set {
				r = b.rowAt(old, stride)
			}
			old++
		}
		if r.codes == nil {
			continue
		}
		out.present |= 1 << bit
		out.codes = append(out.codes, r.codes...)
		out.lowBits = append(out.lowBits, r.lowBits...)
		out.scales = append(out.scales, r.scale)
	}
	return out
}

func (b *block) encode() []byte {
	out := make([]byte, 0, len(b.codes)+len(b.lowBits)+4*len(b.scales))
	out = append(append(out, b.codes...), b.lowBits...)
	for _, s := range b.scales {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(s))
	}
	return out
}

// decodeBlock copies the stored form.
func decodeBlock(num int64, present uint64, data []byte, stride int) (*block, error) {
	n := bits.OnesCount64(present)
	if len(data) != n*(stride+stride/2+4) {
		return nil, fmt.Errorf("block %d: %d bytes do not hold %d vectors of %d coordinates", num, len(data), n, stride)
	}
	b := &block{num: num, present: present, scales: make([]float32, n)}
	b.codes = append(make([]byte, 0, n*stride), data[:n*stride]...)
	b.lowBits = append(make([]byte, 0, n*stride/2), data[n*stride:][:n*stride/2]...)
	for i := range b.scales {
		b.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[n*(stride+stride/2)+4*i:]))
	}
	return b, nil
}

// quantizeVector returns v normalized, in stored form.
func quantizeVector(v []float32) (row, error) {
	norm, largest, err := measureVector(v)
	if err != nil {
		return row{}, err
	}
	n := paddedLength(len(v))
	r := row{codes: make([]byte, n), lowBits: make([]byte, n/2)}
	for i := range r.lowBits {
		r.lowBits[i] = restSteps/2 | restSteps/2<<4
	}
	if norm == 0 {
		return r, nil
	}
	r.scale = float32(largest / norm / maxCode)
	for i, x := range v {
		whole := int(math.RoundToEven(float64(x) / largest * maxCode))
		code := (whole + restSteps/2) >> 4
		rest := whole - code*restSteps + restSteps/2
		r.codes[i] = byte(int8(code))
		shift := i & 1 * 4
		r.lowBits[i/2] = r.lowBits[i/2]&^(0xf<<shift) | byte(rest)<<shift
	}
	return r, nil
}

// measureVector returns the norm and the largest absolute coordinate.
func measureVector(v []float32) (norm, largest float64, err error) {
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

// dotProduct allows a shorter v.
func (r row) dotProduct(v []float32) float64 {
	var even, odd float32
	for i := 0; i+1 < len(v); i += 2 {
		b := r.lowBits[i/2]
		even += v[i] * float32(int(int8(r.codes[i]))*restSteps+int(b&0xf)-restSteps/2)
		odd += v[i+1] * float32(int(int8(r.codes[i+1]))*restSteps+int(b>>4)-restSteps/2)
	}
	if i := len(v) - 1; i&1 == 0 {
		even += v[i] * float32(int(int8(r.codes[i]))*restSteps+int(r.lowBits[i/2]&0xf)-restSteps/2)
	}
	return float64(even+odd) * float64(r.scale)
}
