package vector

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

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

// passage returns the passage of a row.
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
