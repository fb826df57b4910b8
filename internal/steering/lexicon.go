package steering

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed lexicon.txt
var lexiconText string

// A wordClass is a line of the lexicon.
type wordClass struct {
	words map[string]bool
	pairs [][]string // words that count together
}

// lexicon returns the classes of lexicon.txt by name. To teach the grammar a language, add its words
// there.
var lexicon = sync.OnceValue(func() map[string]*wordClass {
	classes := make(map[string]*wordClass)
	for line := range strings.Lines(lexiconText) {
		name, list, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		c := &wordClass{words: make(map[string]bool)}
		for _, entry := range strings.Fields(list) {
			if parts := strings.Split(entry, "+"); len(parts) > 1 {
				c.pairs = append(c.pairs, parts)
			} else {
				c.words[entry] = true
			}
		}
		classes[name] = c
	}
	return classes
})

func isWord(norm string, classes ...string) bool {
	return slices.ContainsFunc(classes, func(class string) bool { return lexicon()[class].words[norm] })
}

// A bag is the words of a clause without an order.
type bag map[string]bool

// hasAny reports whether the bag has an entry of one of the classes.
func (b bag) hasAny(classes ...string) bool {
	for w := range b {
		if isWord(w, classes...) {
			return true
		}
	}
	return b.hasPair(classes...)
}

func (b bag) hasPair(classes ...string) bool {
	return slices.ContainsFunc(classes, func(class string) bool {
		return slices.ContainsFunc(lexicon()[class].pairs, func(pair []string) bool {
			return !slices.ContainsFunc(pair, func(w string) bool { return !b[w] })
		})
	})
}

// isWithin reports whether each word of the bag is in one of the classes, or in a pair of one.
func (b bag) isWithin(classes ...string) bool {
	for w := range b {
		if !isWord(w, classes...) && !slices.ContainsFunc(classes, func(class string) bool {
			return slices.ContainsFunc(lexicon()[class].pairs, func(pair []string) bool { return slices.Contains(pair, w) })
		}) {
			return false
		}
	}
	return true
}
