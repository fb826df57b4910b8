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

func parallelParts[T any](list []T, do func(part []T)) {
	var wg sync.WaitGroup
	for part := range slices.Chunk(list, 1+len(list)/runtime.GOMAXPROCS(0)) {
		wg.Go(func() { do(part) })
	}
	wg.Wait()
}

// selectDiverse selects the best of equal passages, a limited number per item, with penalties
// for likeness. It returns extra candidates because some yield no quote.
func (s *search) selectDiverse(list []*candidate) []*candidate {
	parallelParts(list, func(part []*candidate) {
		for _, c := range part {
			c.hashWords()
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
			if c == nil || c.score <= value || s.plan.perItem <= perItem[c.item.num] && c.item.Kind != KindThread {
				continue
			}
			if s.isDuplicate(c, taken) {
				open[i] = nil
				continue
			}
			if v := c.score * (1 - s.plan.diversity*c.similarity); v > value {
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
			s.isDuplicate(c, taken)
		}
	}
	return taken
}

// isDuplicate also notes the likeness to taken candidates.
func (s *search) isDuplicate(c *candidate, taken []*candidate) bool {
	for ; c.comparedWith < len(taken); c.comparedWith++ {
		t := taken[c.comparedWith]
		if c.wordsHash == t.wordsHash || samePost(c.item, t.item) {
			t.similar++
			c.comparedWith = len(taken)
			return true
		}
		like, numbers := tokenOverlap(t.tokens, c.tokens)
		if like >= sameWords && numbers {
			t.similar++
			c.comparedWith = len(taken)
			return true
		}
		c.similarity = max(c.similarity, like)
	}
	return false
}

// samePost reports whether two items are copies of one post.
func samePost(a, b Item) bool {
	return a.num != b.num && a.ExternalID != "" && a.ExternalID == b.ExternalID && a.Source == b.Source && a.Kind == b.Kind
}

// hashWords hashes the candidate's words, once.
func (c *candidate) hashWords() {
	if c.wordsHash != "" {
		return
	}
	text := c.ownText()
	var all []byte
	lexical.Tokens(text, func(t lexical.Token) {
		sum := wordHash(strings.ToLower(text[t.Start:t.End]))
		c.tokens = append(c.tokens, sum)
		all = binary.LittleEndian.AppendUint64(all, sum)
	})
	sum := sha256.Sum256(all)
	c.wordsHash = hex.EncodeToString(sum[:])
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

// ownText returns the passage without headings: one text may have several.
func (c *candidate) ownText() string {
	var b strings.Builder
	for l := range strings.SplitSeq(c.passage.Text, "\n") {
		if !isHeading(l, c.passage.Heading, c.item.Title) {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	if strings.TrimSpace(b.String()) == "" {
		return c.passage.Text
	}
	return b.String()
}

// tokenOverlap returns the share of common words and, for shares of at least sameWords,
// whether the numbers are equal.
func tokenOverlap(a, b []uint64) (part float64, numbers bool) {
	both := countCommon(a, b)
	if both == 0 {
		return 0, false
	}
	part = float64(both) / float64(len(a)+len(b)-both)
	return part, part >= sameWords && sameNumbers(a, b)
}

// countCommon counts common elements of sorted lists. Unpredictable branches would take
// three times as long.
func countCommon(a, b []uint64) (both int) {
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
