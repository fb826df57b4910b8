package ponder

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// NewID returns prefix, "_" and a new ULID (github.com/ulid/spec): 48 bits of milliseconds
// and 80 random bits, in Crockford's base 32. IDs of different milliseconds sort by time.
// NewID is safe for concurrent use.
func NewID(prefix string) string {
	var seed [10]byte
	rand.Read(seed[:]) // never fails
	hi := uint64(time.Now().UnixMilli())<<16 | uint64(binary.BigEndian.Uint16(seed[:]))
	lo := binary.BigEndian.Uint64(seed[2:])
	b := append(append(make([]byte, 0, len(prefix)+1+26), prefix...), '_')
	for shift := 125; shift >= 0; shift -= 5 { // 130 bits, the first two of them zero
		v := lo >> shift
		if shift >= 64 {
			v = hi >> (shift - 64)
		} else if shift > 59 {
			v |= hi << (64 - shift)
		}
		b = append(b, crockford[v&31])
	}
	return string(b)
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
