package subconscious

import (
	"slices"
	"strings"

	"ponder/words"
)

// observations returns the ids of the observations that a finding rests on: those whose
// labels it gives, and those of strangers whose words it has or that it may come from.
// So a text that makes a role leave out where a finding is from is its source all the same.
func (c *checker) observations(summary string, lists ...[]string) (ids []string) {
	add := func(l labelled) {
		if !slices.Contains(ids, l.ID) && len(ids) < maxRests {
			ids = append(ids, l.ID)
		}
	}
	stems := stemsOf(summary)
	borne := false // by something that no stranger wrote
	for _, ref := range slices.Concat(lists...) {
		for _, l := range c.shown {
			if l.label == strings.ToLower(bare(ref)) || l.ID == bare(ref) {
				add(l)
				borne = borne || !l.Untrusted && common(stems, l) >= min(2, len(stems))
			}
		}
	}
	strangers := false
	for _, l := range c.shown {
		if l.Untrusted && (slices.Contains(ids, l.ID) || common(stems, l) >= max(2, (len(stems)+1)/2)) {
			add(l)
			strangers = true
		}
	}
	if borne || strangers {
		return ids
	}
	return c.closest(stems, ids)
}

// closest adds to the ids of observations the one of a stranger that has the most words of
// a finding, the newest of equals, for a finding that nothing bears out may come from it.
func (c *checker) closest(stems []string, ids []string) []string {
	most, at := -1, -1
	for i, l := range c.shown {
		if n := common(stems, l); l.Untrusted && n >= most {
			most, at = n, i
		}
	}
	if at < 0 {
		return ids
	}
	return append(ids[:min(len(ids), maxRests-1)], c.shown[at].ID)
}

// common returns how many of some stems an observation has.
func common(stems []string, l labelled) (n int) {
	have := stemsOf(l.Subject + " " + l.Content)
	for _, s := range stems {
		if slices.Contains(have, s) {
			n++
		}
	}
	return n
}

// stemsOf returns the stems of the words of a text that say what it is about, each once.
func stemsOf(s string) (list []string) {
	lang, _ := words.Detect(s)
	words.Tokens(s, func(t words.Token) {
		word := s[t.Start:t.End]
		if words.Stop(word, "en") || words.Stop(word, lang) {
			return
		}
		if stem := words.Stem(word, stemming(lang)); !slices.Contains(list, stem) {
			list = append(list, stem)
		}
	})
	return list
}

// stemming returns the language whose stems are compared where short texts do not tell:
// English.
func stemming(lang words.Language) words.Language {
	if lang == "" {
		return "en"
	}
	return lang
}
