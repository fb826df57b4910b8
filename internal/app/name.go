package app

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"
)

// Sum returns what is the same for the same texts.
func Sum(parts ...string) [sha256.Size]byte {
	var all []byte
	for _, p := range parts {
		all = append(binary.BigEndian.AppendUint32(all, uint32(len(p))), p...)
	}
	return sha256.Sum256(all)
}

// Letters returns the first 128 bits of a sum in the form of a ULID.
func Letters(sum [sha256.Size]byte) string {
	n := new(big.Int).SetBytes(sum[:16])
	text := strings.Map(func(r rune) rune {
		const plain, ours = "0123456789abcdefghijklmnopqrstuv", "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
		return rune(ours[strings.IndexRune(plain, r)])
	}, n.Text(32))
	const letters = 26
	return strings.Repeat("0", max(0, letters-len(text))) + text
}
