package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

// Words below shortWord letters are not corrected; from longWord on, two mistakes are
// allowed.
const (
	shortWord = 4
	longWord  = 8
	maxGuess  = 8
)

// correctTypos replaces words that no allowed passage has.
func (s *search) correctTypos(ctx context.Context) error {
	for _, g := range s.groups {
		if g.not || g.prefix || s.hasAllowed(g) {
			continue
		}
		guesses := s.v.nearWords(lexical.Fold(g.words[0]))
		for _, guess := range guesses {
			try := s.v.newGroup(Term{Word: guess})
			if err := s.x.fetchGroups(ctx, s.tx, s.v, []*group{try}); err != nil {
				return err
			}
			if !s.hasAllowed(try) {
				continue
			}
			if s.corrected == nil {
				s.corrected = map[string]string{}
			}
			s.corrected[g.words[0]] = guess
			g.terms, g.lists, g.df, g.idf = try.terms, try.lists, try.df, try.idf
			break
		}
	}
	return nil
}

func (s *search) hasAllowed(g *group) bool {
	for i, list := range g.lists {
		seg := s.v.segments[i]
		if slices.ContainsFunc(list, func(p ranking.Posting) bool { return s.filter.matchesDoc(&seg.docs[seg.docOf[p.At]]) }) {
			return true
		}
	}
	return false
}

type guess struct {
	word     string
	distance int
	df       int
}

// nearWords returns known words within the allowed mistakes, the likeliest first. The first
// letter must match, or be swapped with the second.
func (v *view) nearWords(word string) []string {
	letters := []rune(word)
	if len(letters) < shortWord || strings.ContainsFunc(word, unicode.IsDigit) || lexical.Unspaced(letters[0]) {
		return nil
	}
	maxDistance := 1
	if len(letters) >= longWord {
		maxDistance = 2
	}
	best := map[string]guess{}
	m := newTypoMatcher(letters, maxDistance)
	for _, first := range slices.Compact([]rune{letters[0], letters[1]}) {
		for _, mark := range []string{"", formMark} {
			for _, s := range v.segments {
				m.scanTerms(s.terms, mark, mark+string(first), best)
			}
		}
	}
	var list []guess
	for _, g := range best {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(b.df, a.df), cmp.Compare(a.word, b.word))
	})
	var out []string
	for _, g := range list[:min(len(list), maxGuess)] {
		out = append(out, g.word)
	}
	return out
}

// A typoMatcher computes distances to word for sorted terms, and reuses the rows of common
// prefixes.
type typoMatcher struct {
	word        []rune
	maxDistance int
	letters     []rune
	ends        []int   // their ends in bytes
	rows        [][]int // distance of the first i letters to the first j of word
}

func newTypoMatcher(word []rune, maxDistance int) *typoMatcher {
	m := &typoMatcher{word: word, maxDistance: maxDistance, rows: [][]int{make([]int, len(word)+1)}}
	for j := range m.rows[0] {
		m.rows[0][j] = j
	}
	return m
}

func (m *typoMatcher) scanTerms(d *dictionary, mark, begin string, best map[string]guess) {
	m.letters, m.ends = m.letters[:0], m.ends[:0]
	d.eachTermFrom(begin, func(term []byte, shared int, e termEntry) bool {
		if !strings.HasPrefix(string(term), begin) {
			return false
		}
		distance := m.editDistance(term[len(mark):], shared-len(mark))
		if distance > m.maxDistance || !e.written || e.df == 0 {
			return true
		}
		word := string(term[len(mark):])
		g := best[word]
		best[word] = guess{word, distance, g.df + e.df}
		return true
	})
}

// editDistance returns the Damerau-Levenshtein distance of a term (optimal string
// alignment), or more than most. The term shares that many bytes with the previous one.
func (m *typoMatcher) editDistance(term []byte, shared int) int {
	n := len(m.ends)
	for n > 0 && m.ends[n-1] > shared {
		n--
	}
	m.letters, m.ends = m.letters[:n], m.ends[:n]
	if n > 0 && m.isHopeless(n) {
		return m.maxDistance + 1
	}
	at := 0
	if n > 0 {
		at = m.ends[n-1]
	}
	for at < len(term) {
		r, size := utf8.DecodeRune(term[at:])
		at += size
		m.letters, m.ends = append(m.letters, r), append(m.ends, at)
		m.fillRow(len(m.letters))
		if m.isHopeless(len(m.letters)) {
			return m.maxDistance + 1
		}
	}
	return m.rows[len(m.letters)][len(m.word)]
}

func (m *typoMatcher) fillRow(i int) {
	for len(m.rows) <= i {
		m.rows = append(m.rows, make([]int, len(m.word)+1))
	}
	row, up, r := m.rows[i], m.rows[i-1], m.letters[i-1]
	row[0] = i
	for j := 1; j < len(row); j++ {
		cost := 1
		if m.word[j-1] == r {
			cost = 0
		}
		row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
		if i > 1 && j > 1 && m.word[j-2] == r && m.word[j-1] == m.letters[i-2] {
			row[j] = min(row[j], m.rows[i-2][j-2]+1)
		}
	}
}

// isHopeless reports whether no term with the first i letters can be near.
func (m *typoMatcher) isHopeless(i int) bool {
	return slices.Min(m.rows[i]) > m.maxDistance && (i < 2 || slices.Min(m.rows[i-1]) > m.maxDistance-1)
}
