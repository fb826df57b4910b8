package ranking

import (
	"encoding/binary"
	"math"
)

// A Posting is the number of a text and how often a term is in it.
type Posting struct {
	At   int32
	Freq uint16
}

// AppendPosting appends a posting to the stored form, gap after the one before: the gap
// doubled, plus 1 if a byte of the frequency follows. The frequency is 1 otherwise.
func AppendPosting(b []byte, gap int32, freq uint16) []byte {
	if freq <= 1 {
		return binary.AppendUvarint(b, uint64(gap)<<1)
	}
	return append(binary.AppendUvarint(b, uint64(gap)<<1|1), byte(min(freq, math.MaxUint8)))
}

// AppendPostings appends the first n stored postings of list to out. It stops at a
// number of texts or more, and at damaged bytes.
func AppendPostings(out []Posting, list []byte, n, texts int) []Posting {
	at := int32(0)
	for i := 0; n > 0 && i < len(list); n-- {
		v := uint64(list[i])
		i++
		if v >= 0x80 {
			var k int
			v, k = binary.Uvarint(list[i-1:])
			if k <= 0 {
				return out
			}
			i += k - 1
		}
		freq := uint16(1)
		if v&1 != 0 && i < len(list) {
			freq = uint16(list[i])
			i++
		}
		if v>>1 >= uint64(texts) || int(at)+int(v>>1) >= texts {
			return out
		}
		at += int32(v >> 1)
		out = append(out, Posting{at, freq})
	}
	return out
}
