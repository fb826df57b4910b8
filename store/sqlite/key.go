package sqlite

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"ponder"
)

// hashSize is the stored part of the SHA-256 of a key. It is large enough to prevent
// collisions.
const hashSize = 16

func hash(key string) (h [hashSize]byte) {
	sum := sha256.Sum256([]byte(key))
	copy(h[:], sum[:])
	return h
}

// A numbering derives a number from a key. Keys are sorted by it, so that keys of one time
// share a page.
type numbering int64

const (
	byCause numbering = iota // schema version 3 and older
	byTurn
)

// number returns the number of the key of a run's cause.
func (n numbering) number(run ponder.RunID, cause string) int64 {
	if n == byCause {
		return turn(cause)
	}
	root, _, _ := strings.Cut(string(run), "/")
	return max(largest(cause), after(root, '.'))
}

// action returns the action key of a cause.
func action(cause string) string {
	if i := strings.IndexAny(cause, "#/"); i >= 0 {
		return cause[:i]
	}
	return cause
}

// turn returns the number at the end of an action key, after "-", or zero. Sessions number
// their actions so.
func turn(cause string) int64 { return after(action(cause), '-') }

// after returns the number after the last sep in a text, or zero.
func after(text string, sep byte) int64 {
	return number(text[strings.LastIndexByte(text, sep)+1:])
}

// largest returns the largest number between "-" in an action key, or zero. Conversations
// use the seq of a message, and count from there.
func largest(cause string) (n int64) {
	for part := range strings.SplitSeq(action(cause), "-") {
		n = max(n, number(part))
	}
	return n
}

func number(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int64(n)
}
