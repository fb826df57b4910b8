// Package ranking scores texts by the words of a query and keeps the best.
//
// The score is BM25: a term counts more the fewer texts have it, each further
// occurrence counts less, and occurrences in a long text count less. Postings are
// the stored form of the texts that have a term.
package ranking

import (
	"encoding/binary"
	"math"
)

// A Best keeps the n best of the items that are added: a heap with the worst first.
type Best[T any] struct {
	n      int
	better func(a, b *T) bool
	items  []T
	next   T // the item that is compared; a field, so that it stays off the heap
}

// NewBest returns an empty Best of n items at most. better is a strict order.
func NewBest[T any](n int, better func(a, b *T) bool) *Best[T] {
	return &Best[T]{n: n, better: better, items: make([]T, 0, min(n, 1024))}
}

// Items returns the kept items, the worst first and the others in no order.
func (b *Best[T]) Items() []T { return b.items }

// Full reports whether a further item must be better than the worst to be kept.
func (b *Best[T]) Full() bool { return len(b.items) == b.n }

// Add keeps an item if it is among the best.
func (b *Best[T]) Add(item T) {
	if !b.Full() {
		b.items = append(b.items, item)
		b.siftUp()
		return
	}
	if b.next = item; b.n > 0 && b.better(&b.next, &b.items[0]) {
		b.items[0] = item
		b.siftDown()
	}
}

func (b *Best[T]) siftUp() {
	for i := len(b.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !b.better(&b.items[parent], &b.items[i]) {
			return
		}
		b.items[i], b.items[parent] = b.items[parent], b.items[i]
		i = parent
	}
}

func (b *Best[T]) siftDown() {
	for i := 0; ; {
		worst := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(b.items); c++ {
			if b.better(&b.items[worst], &b.items[c]) {
				worst = c
			}
		}
		if worst == i {
			return
		}
		b.items[i], b.items[worst] = b.items[worst], b.items[i]
		i = worst
	}
}

// Saturation is k1 of BM25: how soon further occurrences of a term stop counting.
const Saturation = 1.2

// Rarity returns the inverse frequency of a term that df of n texts have.
func Rarity(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }

// A Scorer scores one term in texts of one kind.
type Scorer struct{ weight, fixed, lean float32 }

// NewScorer returns the scorer of a term of a weight, its rarity included. Lean, b of
// BM25, is how much the length of a text counts, beside the average length.
func NewScorer(weight, average, lean float64) Scorer {
	return Scorer{float32(weight * (Saturation + 1)), float32(Saturation * (1 - lean)), float32(Saturation * lean / max(average, 1))}
}

// Score returns the score of a text of a length that has the term so often.
func (s Scorer) Score(freq, length float32) float32 {
	return s.weight * freq / (freq + s.fixed + s.lean*length)
}

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
