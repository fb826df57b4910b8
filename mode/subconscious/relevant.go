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

// isCommon contains stems that unrelated texts share: generic words for mail, meetings, files and
// dates.
var isCommon = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range stemsOf(commonWords) {
		m[w] = true
	}
	return m
})

var dates = regexp.MustCompile(`\d{1,4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2})?Z?)?|\d{1,2}[:.]\d{2}\b|\d{1,2}[./]\d{1,2}[./](\d{2,4})?|\b\d{1,2}(st|nd|rd|th)\b|\b(19|20)\d{2}\b`)

// rareOf returns the stems of s that may link it to another text: names, rare words and long
// numbers, but no dates.
func rareOf(s string) []string {
	return slices.DeleteFunc(stemsOf(dates.ReplaceAllString(s, " ")), func(w string) bool {
		return isCommon()[w] || len(w) < 2 || len(w) < 3 && strings.Trim(w, "0123456789") == ""
	})
}

func (o Seen) rare() []string {
	return rareOf(textkit.VisibleLine(o.Subject, maxLabel) + " " + textkit.VisibleLine(o.Content, maxContent))
}

// pertains reports whether o is relevant to text. They must share a rare word, or half of text's
// words if it has no rare ones.
func (o Seen) pertains(text string) bool {
	if gist := rareOf(text); len(gist) > 0 {
		return common(gist, o.rare()) > 0
	}
	stems := stemsOf(text)
	return 2*common(stems, stemsOf(textkit.VisibleLine(o.Subject, maxLabel)+" "+textkit.VisibleLine(o.Content, maxContent))) >= len(stems)
}

type match struct {
	gist []string
	have [][]string
	in   []int // number of observations with each word of gist
}

func newMatch(text string, have [][]string) match {
	m := match{gist: rareOf(text), have: have}
	for _, w := range m.gist {
		n := 0
		for _, h := range have {
			if slices.Contains(h, w) {
				n++
			}
		}
		m.in = append(m.in, n)
	}
	return m
}

// fits scores the observation at an index. A word counts less the more observations share it.
func (m match) fits(at int) (score float64) {
	for i, w := range m.gist {
		if slices.Contains(m.have[at], w) {
			score += 1 / float64(m.in[i])
		}
	}
	return score
}
