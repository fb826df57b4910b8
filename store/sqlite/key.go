package sqlite

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"ponder"
)

// hashSize is how much of the SHA-256 of a key is kept: none can be found that
// collide.
const hashSize = 16

func hash(key string) (h [hashSize]byte) {
	sum := sha256.Sum256([]byte(key))
	copy(h[:], sum[:])
	return h
}

// A numbering says by what number the keys of a thread are sorted, so that those
// that are taken at one time are neighbours, on one page.
type numbering int64

const (
	byCause numbering = iota // threads of version 3 of the tables, and before
	byTurn
)

// number returns the number of a key of a run's cause.
func (n numbering) number(run ponder.RunID, cause string) int64 {
	if n == byCause {
		return turn(cause)
	}
	root, _, _ := strings.Cut(string(run), "/")
	return max(largest(cause), after(root, '.'))
}

// action returns the key of the action of a cause.
func action(cause string) string {
	if i := strings.IndexAny(cause, "#/"); i >= 0 {
		return cause[:i]
	}
	return cause
}

// turn returns the number that an action's key ends in, after a "-", or zero.
// Sessions count their actions so.
func turn(cause string) int64 { return after(action(cause), '-') }

// after returns the number that a text ends in, after the last of a byte, or zero.
func after(text string, sep byte) int64 {
	return number(text[strings.LastIndexByte(text, sep)+1:])
}

// largest returns the largest of the numbers in an action's key, between "-", or zero:
// conversations name the place of a message, and count from there.
func largest(cause string) (most int64) {
	for part := range strings.SplitSeq(action(cause), "-") {
		most = max(most, number(part))
	}
	return most
}

func number(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int64(n)
}
