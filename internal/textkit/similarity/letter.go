package similarity

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class is what a rune is, as far as that decides how it is read.
type class uint8

const (
	letter class = 1 << iota
	capital
	digits
	blank
	joined  // it is in words, and neither letter nor digit
	dropped // it does not count in a sum
)

// classes are the classes of the runes of ASCII.
var classes = func() (list [utf8.RuneSelf]class) {
	for r := range rune(len(list)) {
		list[r] = classed(r)
		if r == '_' {
			list[r] |= joined
		}
	}
	return list
}()

// classOf returns the class of a rune; of joined, only in ASCII.
func classOf(r rune) class {
	if uint32(r) < utf8.RuneSelf {
		return classes[r]
	}
	return classed(r)
}

func classed(r rune) (is class) {
	switch {
	case unicode.IsLetter(r):
		if is = letter; unicode.IsUpper(r) {
			is |= capital
		}
	case unicode.IsDigit(r):
		is = digits
	case unicode.IsSpace(r):
		is = blank
	case strings.ContainsRune(".,\"“”", r):
		is = dropped
	}
	return is
}

// lower returns the small letter of a rune of a class.
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

// fold returns a word in small letters and without accents.
func fold(w string) string {
	return letters.Replace(strings.Map(unmarked, norm.NFKD.String(strings.ToLower(w))))
}

// folded returns fold of each rune before lastFolded. That of a word of them is
// that of its letters, if none of them is a mark, which might change its place.
var folded = sync.OnceValue(func() *[lastFolded]string {
	var list [lastFolded]string
	for r := range rune(lastFolded) {
		list[r] = fold(string(r))
	}
	return &list
})

const lastFolded = 0x530 // of Latin, Greek and Cyrillic letters

// unmarked drops the marks that a letter can do without.
func unmarked(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// letters has the letters that are others with something that is no mark.
var letters = strings.NewReplacer("’", "'", "ʼ", "'", "ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ")
