package lexical

import (
	_ "embed"
	"strings"
)

// stopText has a language and its stop words per line.
//
//go:embed stop.txt
var stopText string

// A languageSet is a set of languages: bit i stands for listed[i].
type languageSet uint32

// listed are the languages with stop words; stops maps folded words to their languages.
var listed, stops = func() (list []Language, words map[string]languageSet) {
	words = map[string]languageSet{}
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

// Stop reports whether a word is a stop word of a language. An unknown language has none.
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
