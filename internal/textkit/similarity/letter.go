package similarity

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class is a set of properties of a rune.
type class uint8

const (
	letter class = 1 << iota
	capital
	digits
	whitespace
	wordMark // part of a word, but no letter or digit
	ignored  // ignored by contentHash
)

var classes = func() (list [utf8.RuneSelf]class) {
	for r := range rune(len(list)) {
		list[r] = classify(r)
		if r == '_' {
			list[r] |= wordMark
		}
	}
	return list
}()

// classOf returns the class of a rune; wordMark only for ASCII.
func classOf(r rune) class {
	if uint32(r) < utf8.RuneSelf {
		return classes[r]
	}
	return classify(r)
}

func classify(r rune) (is class) {
	switch {
	case unicode.IsLetter(r):
		if is = letter; unicode.IsUpper(r) {
			is |= capital
		}
	case unicode.IsDigit(r):
		is = digits
	case unicode.IsSpace(r):
		is = whitespace
	case strings.ContainsRune(".,\"“”", r):
		is = ignored
	}
	return is
}

// lower returns the lower case of a rune of class is.
func lower(r rune, is class) rune {
	if r < utf8.RuneSelf {
		if is&capital != 0 {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' || r > 0x7f && unicode.IsDigit(r) }

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

// fold returns a word in lower case without accents.
func fold(w string) string {
	return foldReplacer.Replace(strings.Map(dropMark, norm.NFKD.String(strings.ToLower(w))))
}

// foldTable holds fold of each rune below maxFolded. It applies letter by letter only to words
// without combining marks, because marks may be reordered.
var foldTable = sync.OnceValue(func() *[maxFolded]string {
	var list [maxFolded]string
	for r := range rune(maxFolded) {
		list[r] = fold(string(r))
	}
	return &list
})

const maxFolded = 0x530 // end of the Latin, Greek and Cyrillic letters

// dropMark removes combining marks that do not distinguish words.
func dropMark(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// foldReplacer replaces letters that Unicode does not decompose.
var foldReplacer = strings.NewReplacer("’", "'", "ʼ", "'", "ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ")
