package subconscious

import (
	_ "embed"
	"ponder/internal/textkit"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed relevant_words.txt
var commonWords string

// genericStems contains stems that unrelated texts share: generic words for mail, meetings, files and
// dates.
var genericStems = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range stemsOf(commonWords) {
		m[w] = true
	}
	return m
})

var datePattern = regexp.MustCompile(`\d{1,4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2})?Z?)?|\d{1,2}[:.]\d{2}\b|\d{1,2}[./]\d{1,2}[./](\d{2,4})?|\b\d{1,2}(st|nd|rd|th)\b|\b(19|20)\d{2}\b`)

// rareStems returns the stems of s that may link it to another text: names, rare words and long
// numbers, but no dates.
func rareStems(s string) []string {
	return slices.DeleteFunc(stemsOf(datePattern.ReplaceAllString(s, " ")), func(w string) bool {
		return genericStems()[w] || len(w) < 2 || len(w) < 3 && strings.Trim(w, "0123456789") == ""
	})
}

func (o SeenObservation) rareStems() []string {
	return rareStems(textkit.VisibleLine(o.Subject, maxLabel) + " " + textkit.VisibleLine(o.Content, maxContent))
}

// isRelevantTo reports whether o is relevant to text. They must share a rare word, or half of text's
// words if it has no rare ones.
func (o SeenObservation) isRelevantTo(text string) bool {
	if gist := rareStems(text); len(gist) > 0 {
		return countCommon(gist, o.rareStems()) > 0
	}
	stems := stemsOf(text)
	return 2*countCommon(stems, stemsOf(textkit.VisibleLine(o.Subject, maxLabel)+" "+textkit.VisibleLine(o.Content, maxContent))) >= len(stems)
}

type wordMatch struct {
	keywords []string
	have     [][]string
	counts   []int // number of observations with each word of gist
}

func newWordMatch(text string, have [][]string) wordMatch {
	m := wordMatch{keywords: rareStems(text), have: have}
	for _, w := range m.keywords {
		n := 0
		for _, h := range have {
			if slices.Contains(h, w) {
				n++
			}
		}
		m.counts = append(m.counts, n)
	}
	return m
}

// scoreObservation scores the observation at an index. A word counts less the more observations share it.
func (m wordMatch) scoreObservation(at int) (score float64) {
	for i, w := range m.keywords {
		if slices.Contains(m.have[at], w) {
			score += 1 / float64(m.counts[i])
		}
	}
	return score
}
