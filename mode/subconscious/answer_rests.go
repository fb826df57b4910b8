package subconscious

import (
	"slices"
	"strings"

	"ponder/internal/textkit/lexical"
)

// observations returns the ids of the observations that a finding rests on: those whose
// labels it gives and that have to do with it; or the one that fits best, where none of
// these does; or what it says, where none fits. To these comes what strangers wrote and
// has more of its words than they have: so a text that makes a role name another source,
// or none, is a source all the same.
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

// best returns the place of the observation that fits a finding best, the newest of
// several. Of what strangers did not write it must have two words, and half of all: a
// finding is no news for a word that something has by chance.
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

// led returns the place of what strangers wrote that has two words or more of a finding
// which nothing has that it rests on.
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

// gists returns the gists of what was shown.
func (c *checker) gists() [][]string {
	if c.have == nil {
		c.have = make([][]string, len(c.shown))
		for i, l := range c.shown {
			c.have[i] = l.rare()
		}
	}
	return c.have
}

// common returns how many of some stems are among others.
func common(stems, have []string) (n int) {
	for _, s := range stems {
		if slices.Contains(have, s) {
			n++
		}
	}
	return n
}

// stemsOf returns the stems of the words of a text that say what it is about, each once.
func stemsOf(s string) []string {
	list := []string{}
	for _, w := range wordsOf(s) {
		if stem := stemOf(w.folded); !isStop(w.folded) && !slices.Contains(list, stem) {
			list = append(list, stem)
		}
	}
	return list
}

// stemOf returns what a folded word is compared by. Texts of a few words do not tell
// their language, so it is the same for all.
func stemOf(folded string) string { return lexical.Stem(folded, "en") }

// isStop reports whether a folded word says nothing of what a text is about.
func isStop(folded string) bool {
	return slices.ContainsFunc([]lexical.Language{"en", "de", "fr", "es"}, func(lang lexical.Language) bool { return lexical.Stop(folded, lang) })
}
