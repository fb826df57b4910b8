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

// sameWords is the share of common words that makes passages equal, if their numbers
// are equal too.
const sameWords = 0.8

func inParts[T any](list []T, do func(part []T)) {
	var wg sync.WaitGroup
	for part := range slices.Chunk(list, 1+len(list)/runtime.GOMAXPROCS(0)) {
		wg.Go(func() { do(part) })
	}
	wg.Wait()
}

// choose selects the best of equal passages, a limited number per item, with penalties
// for likeness. It returns extra candidates because some yield no quote.
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
		open[best].score = value // keep shown scores in order
		taken = append(taken, open[best])
		perItem[open[best].item.num]++
		open[best] = nil
	}
	for _, c := range open {
		if c != nil {
			s.same(c, taken)
		}
	}
	return taken
}

// same also notes the likeness to taken candidates.
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

// samePost reports whether two items are copies of one post.
func samePost(a, b Item) bool {
	return a.num != b.num && a.ExternalID != "" && a.ExternalID == b.ExternalID && a.Source == b.Source && a.Kind == b.Kind
}

// read hashes the candidate's words, once.
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

// wordHash returns a word's FNV-1a hash, odd if the word has a digit and otherwise
// even.
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

// said returns the passage without headings: one text may have several.
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

// overlap returns the share of common words and, for shares of at least sameWords,
// whether the numbers are equal.
func overlap(a, b []uint64) (part float64, numbers bool) {
	both := common(a, b)
	if both == 0 {
		return 0, false
	}
	part = float64(both) / float64(len(a)+len(b)-both)
	return part, part >= sameWords && sameNumbers(a, b)
}

// common counts common elements of sorted lists. Unpredictable branches would take
// three times as long.
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

// sameNumbers compares the odd hashes, which are those of numbers.
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
