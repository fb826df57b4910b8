package lexical

import (
	_ "embed" // for the words
	"strings"
)

// stopText has the stop words: on a line, a language and its words.
//
//go:embed stop.txt
var stopText string

// A set has languages: the ith of listed is the ith bit.
type set uint32

// listed has the languages that have stop words, and stops the words, folded,
// with their languages.
var listed, stops = func() (list []Language, words map[string]set) {
	words = map[string]set{}
	bits := map[Language]int{}
	for line := range strings.Lines(stopText) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		lang := Language(f[0])
		if _, ok := bits[lang]; !ok {
			bits[lang] = len(list)
			list = append(list, lang)
		}
		for _, w := range f[1:] {
			words[Fold(w)] |= 1 << bits[lang]
		}
	}
	return list, words
}()

// Stop reports whether a word of a language says how a thing is said, not what
// it is about. In an unknown language none does.
func Stop(word string, lang Language) bool {
	langs := stops[Fold(word)]
	for i := 0; langs != 0; i++ {
		if langs&1 != 0 && listed[i] == lang {
			return true
		}
		langs >>= 1
	}
	return false
}
