package subconscious

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// supportingIDs returns the ids of the support of a finding: the relevant observations it cites,
// else the best match, else all it cites. It adds the untrusted observation that shares further
// words, because such text may make a role hide its source.
func (c *answerChecker) supportingIDs(summary string, lists ...[]string) (ids []string) {
	labels := make(map[string]bool)
	for _, ref := range slices.Concat(lists...) {
		labels[strings.ToLower(trimReference(ref))] = true
	}
	m := newWordMatch(summary, c.observationKeywords())
	var cited, rests []int
	for i, l := range c.shown {
		if labels[l.label] || labels[strings.ToLower(l.ID)] {
			cited = append(cited, i)
			if l.isRelevantTo(summary) {
				rests = append(rests, i)
			}
		}
	}
	if len(rests) == 0 {
		if best, ok := c.bestMatch(m); ok {
			rests = []int{best}
		} else {
			rests = cited
		}
	}
	if led, ok := c.untrustedSource(m, rests); ok {
		rests = append(rests, led)
	}
	slices.Sort(rests)
	for _, i := range rests {
		ids = append(ids, c.shown[i].ID)
	}
	return lastN(ids, maxRests)
}

// bestMatch returns the index of the best-matching observation, preferring newer ones. A trusted one
// needs two shared words and half of the finding's, against chance matches.
func (c *answerChecker) bestMatch(m wordMatch) (at int, ok bool) {
	bestScore := 0.0
	for i, l := range c.shown {
		score, n := m.scoreObservation(i), countCommon(m.keywords, m.have[i])
		enough := score >= 1 || n >= 2
		if !l.Untrusted {
			enough = n >= 2 && 2*n >= len(m.keywords)
		}
		if enough && score >= bestScore {
			bestScore, at, ok = score, i, true
		}
	}
	return at, ok
}

// untrustedSource returns the index of the untrusted observation with the most words of the finding that rests
// lack. It needs at least two.
func (c *answerChecker) untrustedSource(m wordMatch, rests []int) (at int, ok bool) {
	var borne []string
	for _, i := range rests {
		borne = append(borne, m.have[i]...)
	}
	bestCount := 1
	for i, l := range c.shown {
		n := 0
		for _, w := range m.keywords {
			if slices.Contains(m.have[i], w) && !slices.Contains(borne, w) {
				n++
			}
		}
		if l.Untrusted && n > bestCount {
			bestCount, at, ok = n, i, true
		}
	}
	return at, ok
}

func (c *answerChecker) observationKeywords() [][]string {
	if c.keywordCache == nil {
		c.keywordCache = make([][]string, len(c.shown))
		for i, l := range c.shown {
			c.keywordCache[i] = l.rareStems()
		}
	}
	return c.keywordCache
}

func countCommon(stems, have []string) (n int) {
	for _, s := range stems {
		if slices.Contains(have, s) {
			n++
		}
	}
	return n
}

func stemsOf(s string) []string {
	list := []string{}
	for _, w := range wordsOf(s) {
		if stem := stemOf(w.folded); !isStop(w.folded) && !slices.Contains(list, stem) {
			list = append(list, stem)
		}
	}
	return list
}

// stemOf stems every word as English, because short texts do not reveal their language.
func stemOf(folded string) string { return lexical.Stem(folded, "en") }

func isStop(folded string) bool {
	return slices.ContainsFunc([]lexical.Language{"en", "de", "fr", "es"}, func(lang lexical.Language) bool { return lexical.Stop(folded, lang) })
}
