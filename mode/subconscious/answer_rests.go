package subconscious

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// observations returns the ids of the support of a finding: the relevant observations it cites,
// else the best match, else all it cites. It adds the untrusted observation that shares further
// words, because such text may make a role hide its source.
func (c *checker) observations(summary string, lists ...[]string) (ids []string) {
	labels := make(map[string]bool)
	for _, ref := range slices.Concat(lists...) {
		labels[strings.ToLower(bare(ref))] = true
	}
	m := newMatch(summary, c.gists())
	var cited, rests []int
	for i, l := range c.shown {
		if labels[l.label] || labels[strings.ToLower(l.ID)] {
			cited = append(cited, i)
			if l.pertains(summary) {
				rests = append(rests, i)
			}
		}
	}
	if len(rests) == 0 {
		if best, ok := c.best(m); ok {
			rests = []int{best}
		} else {
			rests = cited
		}
	}
	if led, ok := c.led(m, rests); ok {
		rests = append(rests, led)
	}
	slices.Sort(rests)
	for _, i := range rests {
		ids = append(ids, c.shown[i].ID)
	}
	return last(ids, maxRests)
}

// best returns the index of the best-matching observation, preferring newer ones. A trusted one
// needs two shared words and half of the finding's, against chance matches.
func (c *checker) best(m match) (at int, ok bool) {
	most := 0.0
	for i, l := range c.shown {
		score, n := m.fits(i), common(m.gist, m.have[i])
		enough := score >= 1 || n >= 2
		if !l.Untrusted {
			enough = n >= 2 && 2*n >= len(m.gist)
		}
		if enough && score >= most {
			most, at, ok = score, i, true
		}
	}
	return at, ok
}

// led returns the index of the untrusted observation with the most words of the finding that rests
// lack. It needs at least two.
func (c *checker) led(m match, rests []int) (at int, ok bool) {
	var borne []string
	for _, i := range rests {
		borne = append(borne, m.have[i]...)
	}
	most := 1
	for i, l := range c.shown {
		n := 0
		for _, w := range m.gist {
			if slices.Contains(m.have[i], w) && !slices.Contains(borne, w) {
				n++
			}
		}
		if l.Untrusted && n > most {
			most, at, ok = n, i, true
		}
	}
	return at, ok
}

func (c *checker) gists() [][]string {
	if c.have == nil {
		c.have = make([][]string, len(c.shown))
		for i, l := range c.shown {
			c.have[i] = l.rare()
		}
	}
	return c.have
}

func common(stems, have []string) (n int) {
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
