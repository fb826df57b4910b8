package recall

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"

	"ponder/internal/textkit/lexical"
)

// sameWords is the part of their words that two passages share which say the
// same, if they also share all numbers.
const sameWords = 0.8

// inParts has a list done in parts, on all processors at once.
func inParts[T any](list []T, do func(part []T)) {
	var wg sync.WaitGroup
	for part := range slices.Chunk(list, 1+len(list)/runtime.GOMAXPROCS(0)) {
		wg.Go(func() { do(part) })
	}
	wg.Wait()
}

// choose returns what becomes hits: of passages that say the same, the best; no
// more of an item than is wanted; each pushed back by its likeness to those
// before it. There are some more than asked for, as some may have no quote.
func (s *search) choose(list []*candidate) []*candidate {
	inParts(list, func(part []*candidate) {
		for _, c := range part {
			c.read()
		}
	})
	n := s.o.N
	if len(s.o.Exclude) > 0 {
		n += min(2*n, len(s.o.Exclude))
	}
	var taken []*candidate
	perItem := map[int64]int{}
	open := slices.Clone(list)
	for len(taken) < n {
		best, value := -1, -1.0
		for i, c := range open {
			if c == nil || c.score <= value || s.tactics.perItem <= perItem[c.item.num] && c.item.Kind != KindThread {
				continue
			}
			if s.same(c, taken) {
				open[i] = nil
				continue
			}
			if v := c.score * (1 - s.tactics.diversity*c.like); v > value {
				best, value = i, v
			}
		}
		if best < 0 {
			break
		}
		open[best].score = value // the order is that of the scores shown
		taken = append(taken, open[best])
		perItem[open[best].item.num]++
		open[best] = nil
	}
	for _, c := range open { // how many more say the same as what is taken
		if c != nil {
			s.same(c, taken)
		}
	}
	return taken
}

// same reports whether a candidate says what one that is taken says. It also
// notes how like them it is.
func (s *search) same(c *candidate, taken []*candidate) bool {
	for ; c.checked < len(taken); c.checked++ {
		t := taken[c.checked]
		if c.sum == t.sum || samePost(c.item, t.item) {
			t.similar++
			c.checked = len(taken)
			return true
		}
		like, numbers := overlap(t.tokens, c.tokens)
		if like >= sameWords && numbers {
			t.similar++
			c.checked = len(taken)
			return true
		}
		c.like = max(c.like, like)
	}
	return false
}

// samePost reports whether two items are one thing that came twice.
func samePost(a, b Item) bool {
	return a.num != b.num && a.ExternalID != "" && a.ExternalID == b.ExternalID && a.Source == b.Source && a.Kind == b.Kind
}

// read takes the words of a candidate, once: a hash of each, which is odd if it
// has a digit.
func (c *candidate) read() {
	if c.sum != "" {
		return
	}
	text := c.said()
	var all []byte
	lexical.Tokens(text, func(t lexical.Token) {
		sum := wordHash(strings.ToLower(text[t.Start:t.End]))
		c.tokens = append(c.tokens, sum)
		all = binary.LittleEndian.AppendUint64(all, sum)
	})
	sum := sha256.Sum256(all)
	c.sum = hex.EncodeToString(sum[:])
	slices.Sort(c.tokens)
	c.tokens = slices.Compact(c.tokens)
}

// wordHash returns the FNV-1a hash of a word, made odd if the word has a digit and
// even if not.
func wordHash(word string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	if h &^= 1; strings.ContainsFunc(word, unicode.IsDigit) {
		h |= 1
	}
	return h
}

// said returns what a passage says, without the headings in it: one text may
// stand under several.
func (c *candidate) said() string {
	var b strings.Builder
	for l := range strings.SplitSeq(c.passage.Text, "\n") {
		if !heading(l, c.passage.Heading, c.item.Title) {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return c.passage.Text
	}
	return b.String()
}

// overlap returns which part of two sorted lists both have, and, where that is enough
// for them to say the same, whether no number is among what only one has: texts that
// differ in a number do not say the same.
func overlap(a, b []uint64) (part float64, numbers bool) {
	both := common(a, b)
	if both == 0 {
		return 0, false
	}
	part = float64(both) / float64(len(a)+len(b)-both)
	return part, part >= sameWords && sameNumbers(a, b)
}

// common counts what two sorted lists have in common. Its steps depend on no branch
// that could be guessed wrong, which takes three times as long.
func common(a, b []uint64) (both int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		_, less := bits.Sub64(a[i], b[j], 0)
		_, more := bits.Sub64(b[j], a[i], 0)
		i += 1 - int(more)
		j += 1 - int(less)
		both += 1 - int(less|more)
	}
	return both
}

// sameNumbers reports whether two sorted lists have the same numbers, which are odd.
func sameNumbers(a, b []uint64) bool {
	odd := func(list []uint64) (out []uint64) {
		for _, x := range list {
			if x&1 != 0 {
				out = append(out, x)
			}
		}
		return out
	}
	return slices.Equal(odd(a), odd(b))
}
