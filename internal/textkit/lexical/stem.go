// Package lexical analyses words: their positions ([Tokens], [Singles]), comparison forms ([Fold],
// [Stem]), stop words ([Stop]) and language ([Detect]).
//
// Word boundaries do not depend on the language. In scripts without spaces, each pair of adjacent
// letters is a word, in texts and queries alike. Stems are from Snowball.
//
// All functions are pure, accept any bytes and are safe for concurrent use. Indexes store the
// results, so that a change requires new indexes.
package lexical

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

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

// Fold returns a word without case and accents, for comparison by form.
func Fold(word string) string {
	ascii := true
	for i := 0; i < len(word) && ascii; i++ {
		ascii = word[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(word)
	}
	if r, _ := utf8.DecodeRuneInString(word); Unspaced(r) {
		return strings.ToLower(norm.NFKC.String(word))
	}
	return foldReplacer.Replace(strings.Map(dropMark, norm.NFKD.String(strings.ToLower(word))))
}

// dropMark drops combining marks that do not distinguish words.
func dropMark(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// foldReplacer replaces letters that Unicode does not decompose.
var foldReplacer = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe", "ı", "i", "ħ", "h", "ς", "σ")

type memo struct {
	word, stem string
	lang       Language
}

// memos caches stems by hash. Texts repeat words so often that most look-ups hit, and stemming is
// much slower.
var memos [1 << 14]atomic.Pointer[memo]

var memoSeed = maphash.MakeSeed()

func cachedStem(word string, lang Language, stem func(string) string) string {
	place := &memos[maphash.String(memoSeed, word)%uint64(len(memos))]
	if m := place.Load(); m != nil && m.word == word && m.lang == lang {
		return m.stem
	}
	word = strings.Clone(word) // word may be part of a long text
	m := &memo{word: word, stem: stem(word), lang: lang}
	place.Store(m)
	return m.stem
}
