package index

import "encoding/binary"

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
