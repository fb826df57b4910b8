package document

import (
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// duplicateShare is the shared fraction of terms from which sentences with equal numbers
// are duplicates.
const duplicateShare = 0.8

// steepness maps scores to hit scores: a sentence with every word once and no helpful
// context gets about 0.7.
const steepness = 1.3

// contextShare is the maximum score of a sentence without words of the question, as a fraction
// of one with all. It may continue an answer ("It fell in 1989.").
const contextShare = 0.25

type selection struct {
	c      *Collection
	q      query
	opts   SearchOptions
	taken  []candidate // including excluded ones
	sums   map[uint32]bool
	perDoc map[int32]int
}

func (s *selection) excludeHits() {
	for _, id := range s.opts.Exclude {
		if u, ok := s.c.unitAt(id); ok {
			s.addTaken(s.c.newCandidate(s.q, scoredUnit{unit: u}))
		}
	}
}

func (s *selection) addTaken(k candidate) {
	s.taken = append(s.taken, k)
	s.sums[s.c.units[k.unit].sum] = true
}

func (s *selection) pickHits(list []candidate, n int) []Hit {
	var hits []Hit
	if len(list) > 0 {
		least := float32(s.opts.MinRelativeScore) * list[0].score
		list = list[:sort.Search(len(list), func(i int) bool { return list[i].score < least })]
	}
	for len(hits) < n {
		best, value := -1, -1.0
		for i := range list {
			if list[i].unit < 0 || float64(list[i].score) <= value {
				continue
			}
			if s.isRedundant(&list[i]) {
				list[i].unit = -1
				continue
			}
			if v := float64(list[i].score) * (1 - s.opts.Diversity*list[i].similarity); v > value {
				best, value = i, v
			}
		}
		if best < 0 {
			return hits
		}
		k := list[best]
		list[best].unit = -1
		s.addTaken(k)
		hits = append(hits, s.newHit(k))
	}
	return hits
}

// isRedundant reports whether a candidate is taken, a duplicate, or beyond PerSource. It also
// updates the similarity.
func (s *selection) isRedundant(k *candidate) bool {
	u := s.c.units[k.unit]
	if s.sums[u.sum] || s.opts.PerSource > 0 && s.perDoc[s.c.passages[u.passage].doc] >= s.opts.PerSource {
		return true
	}
	for ; k.checked < len(s.taken); k.checked++ {
		t := s.taken[k.checked]
		if s.opts.Diversity == 0 && t.unit != k.unit && !canBeDuplicate(len(t.terms), len(k.terms)) {
			continue
		}
		like, numbers := s.c.termOverlap(t.terms, k.terms)
		if t.unit == k.unit || like >= duplicateShare && numbers {
			return true
		}
		k.similarity = max(k.similarity, like)
	}
	return false
}

// canBeDuplicate reports whether lists of a and b terms are long enough to be duplicates.
func canBeDuplicate(a, b int) bool { return float64(min(a, b)) >= duplicateShare*float64(max(a, b)) }

func (x *index) isDuplicate(a, b []int32) bool {
	like, numbers := x.termOverlap(a, b)
	return like >= duplicateShare && numbers
}

// termOverlap returns the shared fraction of terms. numbers is false if the sentences
// differ in a number, and so in meaning.
func (x *index) termOverlap(a, b []int32) (part float64, numbers bool) {
	both, i, j := 0, 0, 0
	numbers = true
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case j == len(b) || i < len(a) && a[i] < b[j]:
			numbers = numbers && !x.numeric[a[i]]
			i++
		default:
			numbers = numbers && !x.numeric[b[j]]
			j++
		}
	}
	if both == 0 {
		return 0, numbers
	}
	return float64(both) / float64(len(a)+len(b)-both), numbers
}

func (s *selection) newHit(k candidate) Hit {
	doc := s.c.passages[s.c.units[k.unit].passage].doc
	s.perDoc[doc]++
	d, i := s.c.docs[doc], int(k.unit-s.c.docUnit[doc])
	h := Hit{Document: d, Sentence: i, Start: d.Sentences[i].Start, End: d.Sentences[i].End, Quote: d.Quote(i)}
	for _, t := range s.q.terms {
		_, has := slices.BinarySearch(k.terms, t.id)
		if has || utf8.RuneCountInString(t.word) == 1 && strings.Contains(h.Quote, t.word) {
			h.Terms = append(h.Terms, t.word)
		}
	}
	part := float64(k.score) / s.q.ideal
	if len(h.Terms) == 0 {
		part *= contextShare / (1 + part)
	}
	h.Score = 1 - math.Exp(-steepness*part)
	return h
}

func (c *Collection) unitAt(id string) (int32, bool) {
	hash, start, end, ok := ParseRangeID(id)
	if !ok {
		return 0, false
	}
	doc, ok := c.hashes[hash]
	if !ok {
		return 0, false
	}
	d := c.docs[doc]
	i := d.SentenceAt(start)
	if i == len(d.Sentences) || d.Sentences[i].Start != start || d.Sentences[i].End != end {
		return 0, false
	}
	return c.docUnit[doc] + int32(i), true
}
