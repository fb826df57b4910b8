package vector

import (
	"context"
	"math"
	"math/bits"
)

// fillBlocks is how many blocks a step looks at.
const fillBlocks = 64

// having returns the passages after those that are seen to which have a vector,
// of which it knows up to some passage.
func (f *filler) having(ctx context.Context, m modelRow) (have map[int64]bool, known int64, err error) {
	from, _ := blockOf(m.filled)
	query := `SELECT block, present FROM vector_block WHERE model = ? AND block >= ? AND present <> 0 ORDER BY block LIMIT ?`
	rows, err := f.db.Read.QueryContext(ctx, f.db.Bind(query), m.num, from, fillBlocks)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	have = map[int64]bool{}
	n, num, present := 0, int64(0), int64(0)
	for ; rows.Next(); n++ {
		if err := rows.Scan(&num, &present); err != nil {
			return nil, 0, err
		}
		for rest := uint64(present); rest != 0; rest &= rest - 1 {
			if p := num<<blockBits | int64(bits.TrailingZeros64(rest)); p > m.filled {
				have[p] = true
			}
		}
	}
	if n < fillBlocks {
		return have, math.MaxInt64, rows.Err()
	}
	return have, num<<blockBits | (blockSize - 1), rows.Err()
}

// missing returns the texts that are to be embedded.
func (f *filler) missing(texts []Text, have map[int64]bool) (out []Text) {
	for _, t := range texts {
		if !have[t.Passage] && !f.refused[t.Passage] {
			out = append(out, t)
		}
	}
	return out
}

// goneOf returns the passages up to one that have a vector but no text.
func goneOf(texts []Text, have map[int64]bool, upTo int64) (gone []int64) {
	there := map[int64]bool{}
	for _, t := range texts {
		there[t.Passage] = true
	}
	for _, p := range sorted(have) {
		if p <= upTo && !there[p] {
			gone = append(gone, p)
		}
	}
	return gone
}
