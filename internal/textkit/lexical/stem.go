package lexical

import (
	"slices"
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

// A Language is the ISO 639-1 code of a language, as "en". "" is an unknown one.
type Language string

// A stemmer is how the words of a language lose their endings.
type stemmer struct {
	stem func(*snowballstem.Env) bool

	// marked says that endings differ by marks, which are dropped after them.
	// Elsewhere people leave marks out as they like: they are dropped before.
	marked bool
}

// stemmers has the languages whose words have stems here.
var stemmers = map[Language]stemmer{
	"ar": {arabic.Stem, true},
	"da": {danish.Stem, true},
	"de": {german.Stem, false},
	"en": {english.Stem, false},
	"es": {spanish.Stem, false},
	"fi": {finnish.Stem, true},
	"fr": {french.Stem, false},
	"hu": {hungarian.Stem, true},
	"it": {italian.Stem, false},
	"nl": {dutch.Stem, false},
	"no": {norwegian.Stem, true},
	"pt": {portuguese.Stem, false},
	"ro": {romanian.Stem, true},
	"ru": {russian.Stem, true},
	"sv": {swedish.Stem, true},
	"ta": {tamil.Stem, true},
	"tr": {turkish.Stem, true},
}

// Languages returns the languages whose words have stems, sorted.
func Languages() []Language {
	out := make([]Language, 0, len(stemmers))
	for l := range stemmers {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// Bounds on a word that has a stem, in bytes.
const (
	minStem = 3
	maxStem = 40
)

// Stem returns what a word of a language is compared by: without case, accents
// and endings. A word in an unknown language, in English one that is not of
// plain letters, and anything with a digit are only folded.
func Stem(word string, lang Language) string {
	folded := Fold(word)
	s, ok := stemmers[lang]
	switch {
	case !ok, len(folded) < minStem, len(folded) > maxStem, strings.ContainsAny(folded, "0123456789"), lang == "en" && !plain(folded):
		return folded
	case !s.marked:
		return remembered(folded, lang, s.stemmed)
	}
	return remembered(word, lang, s.stemmedMarks)
}

// stemmedMarks returns the stem of a word whose endings differ by marks.
func (s stemmer) stemmedMarks(word string) string {
	return Fold(s.stemmed(cedillas.Replace(norm.NFC.String(strings.ToLower(word)))))
}

// stemmed returns a word without its endings, or as it is if nothing would be left.
func (s stemmer) stemmed(word string) string {
	env := snowballstem.NewEnv(word)
	s.stem(env)
	if out := env.Current(); out != "" {
		return out
	}
	return word
}

// cedillas writes Romanian letters as its stemmer knows them.
var cedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")

// plain reports whether a word has no letters but a to z.
func plain(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}
