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

func hashKey(key string) (h [hashSize]byte) {
	sum := sha256.Sum256([]byte(key))
	copy(h[:], sum[:])
	return h
}

// A keyOrder derives a number from a key. Keys are sorted by it, so that keys of one time
// share a page.
type keyOrder int64

const (
	byCause keyOrder = iota // schema version 3 and older
	byTurn
)

// keyNumber returns the number of the key of a run's cause.
func (n keyOrder) keyNumber(run ponder.RunID, cause string) int64 {
	if n == byCause {
		return turnNumber(cause)
	}
	root, _, _ := strings.Cut(string(run), "/")
	return max(largestNumber(cause), numberAfter(root, '.'))
}

// causeAction returns the action key of a cause.
func causeAction(cause string) string {
	if i := strings.IndexAny(cause, "#/"); i >= 0 {
		return cause[:i]
	}
	return cause
}

// turnNumber returns the number at the end of an action key, after "-", or zero. Sessions number
// their actions so.
func turnNumber(cause string) int64 { return numberAfter(causeAction(cause), '-') }

// numberAfter returns the number after the last sep in a text, or zero.
func numberAfter(text string, sep byte) int64 {
	return parseNumber(text[strings.LastIndexByte(text, sep)+1:])
}

// largestNumber returns the largest number between "-" in an action key, or zero. Conversations
// use the seq of a message, and count from there.
func largestNumber(cause string) (n int64) {
	for part := range strings.SplitSeq(causeAction(cause), "-") {
		n = max(n, parseNumber(part))
	}
	return n
}

func parseNumber(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0
	}
	return int64(n)
}
