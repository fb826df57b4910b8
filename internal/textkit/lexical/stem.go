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

// A Language is an ISO 639-1 code such as "en", or "" if unknown.
type Language string

// A stemmer removes the endings of a language.
type stemmer struct {
	stem func(*snowballstem.Env) bool

	// marked means that endings contain significant marks, which are dropped after stemming.
	// Otherwise they are dropped before, because writers often omit them.
	marked bool
}

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

// Languages returns the languages with stems, sorted.
func Languages() []Language {
	out := make([]Language, 0, len(stemmers))
	for l := range stemmers {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// Limits of a word with a stem, in bytes.
const (
	minStem = 3
	maxStem = 40
)

// Stem returns a word without case, accents and endings. It only folds words of unknown languages,
// words with digits, and English words with other letters than a to z.
func Stem(word string, lang Language) string {
	folded := Fold(word)
	s, ok := stemmers[lang]
	switch {
	case !ok, len(folded) < minStem, len(folded) > maxStem, strings.ContainsAny(folded, "0123456789"), lang == "en" && !isPlain(folded):
		return folded
	case !s.marked:
		return cachedStem(folded, lang, s.stemFolded)
	}
	return cachedStem(word, lang, s.stemMarked)
}

func (s stemmer) stemMarked(word string) string {
	return Fold(s.stemFolded(cedillas.Replace(norm.NFC.String(strings.ToLower(word)))))
}

// stemFolded returns a word without endings, or the word if nothing would remain.
func (s stemmer) stemFolded(word string) string {
	env := snowballstem.NewEnv(word)
	s.stem(env)
	if out := env.Current(); out != "" {
		return out
	}
	return word
}

// cedillas converts Romanian letters to the forms that its stemmer knows.
var cedillas = strings.NewReplacer("ș", "ş", "ț", "ţ")

// isPlain reports whether a word has only the letters a to z.
func isPlain(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}
