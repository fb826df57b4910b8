package subconscious

import (
	"slices"
	"strings"

	"ponder/words"
)

// observations returns the ids of the observations that a finding rests on: those whose
// labels it gives, and those of strangers whose words it has. So a text that makes a role
// name another source, or none, is a source all the same.
func (c *checker) observations(summary string, lists ...[]string) (ids []string) {
	cited := make(map[string]bool)
	for _, ref := range slices.Concat(lists...) {
		cited[strings.ToLower(bare(ref))] = true
	}
	stems := stemsOf(summary)
	half := max(1, (len(stems)+1)/2)
	borne, most, closest := 0, 0, "" // by what strangers did not write; by what they did
	for i, l := range c.shown {
		n := common(stems, c.stems(i))
		switch {
		case cited[l.label] || cited[strings.ToLower(l.ID)] || l.Untrusted && n >= max(2, half):
			ids = append(ids, l.ID)
			if !l.Untrusted {
				borne = max(borne, n)
			}
		case l.Untrusted && n >= max(1, most):
			most, closest = n, l.ID
		}
	}
	if borne < half && most > borne {
		ids = append(ids, closest)
	}
	return last(ids, maxRests)
}

// stems returns the stems of what was shown at a place.
func (c *checker) stems(i int) []string {
	if c.have == nil {
		c.have = make([][]string, len(c.shown))
	}
	if c.have[i] == nil {
		c.have[i] = stemsOf(oneLine(c.shown[i].Subject, maxLabel) + " " + oneLine(c.shown[i].Content, maxContent))
	}
	return c.have[i]
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
func stemOf(folded string) string { return words.Stem(folded, "en") }

// isStop reports whether a folded word says nothing of what a text is about.
func isStop(folded string) bool {
	for _, lang := range []words.Language{"en", "de", "fr", "es"} {
		if words.Stop(folded, lang) {
			return true
		}
	}
	return false
}
