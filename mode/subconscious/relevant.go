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

// isCommon has the stems of words that texts share which have nothing to do with each
// other: what is said of any mail, meeting or file, and words of dates.
var isCommon = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range stemsOf(commonWords) {
		m[w] = true
	}
	return m
})

// dates finds times and dates that are written in digits.
var dates = regexp.MustCompile(`\d{1,4}-\d{1,2}-\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2})?Z?)?|\d{1,2}[:.]\d{2}\b|\d{1,2}[./]\d{1,2}[./](\d{2,4})?|\b\d{1,2}(st|nd|rd|th)\b|\b(19|20)\d{2}\b`)

// rareOf returns the stems of the words of a text that may tie it to another: names, rare
// words and long numbers. What is said of anything is none, nor is any part of a date.
func rareOf(s string) []string {
	return slices.DeleteFunc(stemsOf(dates.ReplaceAllString(s, " ")), func(w string) bool {
		return isCommon()[w] || len(w) < 2 || len(w) < 3 && strings.Trim(w, "0123456789") == ""
	})
}

func (o Seen) rare() []string {
	return rareOf(textkit.VisibleLine(o.Subject, maxLabel) + " " + textkit.VisibleLine(o.Content, maxContent))
}

// pertains reports whether an observation has to do with a text: they share a rare word, a
// name or a number; or half of all words, where the text has none of these.
func (o Seen) pertains(text string) bool {
	if gist := rareOf(text); len(gist) > 0 {
		return common(gist, o.rare()) > 0
	}
	stems := stemsOf(text)
	return 2*common(stems, stemsOf(textkit.VisibleLine(o.Subject, maxLabel)+" "+textkit.VisibleLine(o.Content, maxContent))) >= len(stems)
}

// A match says how well observations fit a text.
type match struct {
	gist []string
	have [][]string // of the observations
	in   []int      // by place in gist: in how many observations it is
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

// fits returns how well the observation at a place fits: its words count the less the more
// others have them.
func (m match) fits(at int) (score float64) {
	for i, w := range m.gist {
		if slices.Contains(m.have[at], w) {
			score += 1 / float64(m.in[i])
		}
	}
	return score
}
