package similarity

import (
	"math/bits"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
)

type language struct {
	name             string
	index            int // index in the list of languages
	stem             func(word string) string
	negativePrefixes []string          // negative prefixes
	forms            map[string]string // irregular forms
	stops            map[string]bool
	common           map[string]bool     // function words that identify the language
	phrases          node                // phrases by the stems of their words
	exact            map[string]entry    // single words as written
	stemmed          map[string][]string // single words by stem
	english          *language
	nearly           uint32 // id of "nearly", which says little before a number
	cause            uint32 // id of the word for causing, if causes
	causes           bool
}

// unknown is the index of the language without tables.
const unknown = 4

// numLanguages is the number of languages, including scripts without spaces.
const numLanguages = unknown + 2

// Negative prefixes. English has more, but both words must be known.
var (
	unEnglish = []string{"un", "in", "im", "ir", "il", "dis", "non", "mis"}
	unGerman  = []string{"un", "nicht"}
	unFrench  = []string{"in", "im", "ir", "il", "non", "des", "mal"}
	unSpanish = []string{"in", "im", "ir", "des"}
)

// detectLanguage returns the language of most words; the first of equals.
func (s *scanner) detectLanguage(text string) int {
	count := [unknown + 1]int{1} // English, in doubt
	latin := true
	for i := range s.tokens[:min(len(s.tokens), 60)] {
		if t := &s.tokens[i]; t.kind == word {
			latin = latin && t.text[0] < 0x80
			for in := t.common; in != 0; in &= in - 1 {
				count[bits.TrailingZeros8(in)] += 2
			}
		}
	}
	if !s.ascii {
		countAccents(text[:min(len(text), 1000)], &count)
	}
	best := 0
	for i, n := range count {
		if n > count[best] {
			best = i
		}
	}
	if count[best] <= 1 && !latin {
		return unknown
	}
	return best
}

// countAccents counts letters that only one language has.
func countAccents(text string, count *[unknown + 1]int) {
	for _, r := range text {
		switch r {
		case 'ä', 'ö', 'ü', 'ß':
			count[1]++
		case 'à', 'è', 'ê', 'ë', 'î', 'ï', 'ô', 'ù', 'û', 'ç', 'œ':
			count[2]++
		case 'ñ', '¿', '¡', 'á', 'í', 'ó', 'ú':
			count[3]++
		}
	}
}

func stemEnglish(w string) string {
	if !isPlain(w) {
		return w
	}
	if len(w) > 5 && strings.HasSuffix(w, "ly") {
		return snowball(english.Stem, w[:len(w)-2]) + "ly" // "hardly" is not "hard"
	}
	return snowball(english.Stem, britishSpelling(w))
}

func snowball(stem func(*snowballstem.Env) bool, word string) string {
	env := snowballstem.NewEnv(word)
	stem(env)
	return env.Current()
}

// britishSpelling converts American endings.
func britishSpelling(w string) string {
	for _, s := range []struct{ from, to string }{{"yze", "yse"}, {"yzed", "ysed"}, {"yzing", "ysing"}, {"ize", "ise"}, {"ized", "ised"}, {"izes", "ises"}, {"izing", "ising"}, {"ization", "isation"}, {"izations", "isations"}} {
		if len(w) > len(s.from)+2 && strings.HasSuffix(w, s.from) {
			return w[:len(w)-len(s.from)] + s.to
		}
	}
	return w
}

// isPlain reports whether a word is lower-case ASCII and long enough for a stem.
func isPlain(w string) bool {
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return false
		}
	}
	return len(w) > 2 && len(w) <= 40
}

// stemFrench cuts inflection endings off a word without accents.
func stemFrench(w string) string {
	return cutEndings(w, 3, "issent", "aient", "erent", "ees", "ent", "ait", "ant", "ees", "ee", "es", "er", "ez", "ir", "ie", "it", "is", "e", "s", "x", "t")
}

func stemSpanish(w string) string {
	if !isPlain(w) {
		return w
	}
	return snowball(spanish.Stem, w)
}

// stemGerman cuts inflection endings, as the second step of Caumanns' light stemmer does.
func stemGerman(w string) string {
	return cutEndings(w, 4, "ern", "em", "er", "en", "es", "st", "e", "s", "n", "t")
}

// cutEndings cuts the first matching ending, twice, while at least minLen letters remain.
func cutEndings(w string, minLen int, endings ...string) string {
	if !isPlain(w) {
		return w
	}
	for range 2 {
		for _, s := range endings {
			if len(w)-len(s) >= minLen && strings.HasSuffix(w, s) {
				w = w[:len(w)-len(s)]
				break
			}
		}
	}
	return w
}

func stemOther(w string) string {
	if w[0] == 0xd0 || w[0] == 0xd1 { // Cyrillic
		return snowball(russian.Stem, w)
	}
	return w
}

// endings of derivation, the longest first. The stemmer has already cut inflection.
var endings = []string{"ational", "ation", "ment", "ance", "ence", "ness", "ure", "ur", "ion", "al", "iti", "ic", "er", "or", "it", "at", "iv", "is", "i", "y", "e"}

// cutDerivation cuts one derivation ending, so that "construct" and "construction" are equal.
func cutDerivation(stem string) string {
	for _, e := range endings {
		if len(stem)-len(e) >= 4 && strings.HasSuffix(stem, e) {
			return stem[:len(stem)-len(e)]
		}
	}
	return stem
}
