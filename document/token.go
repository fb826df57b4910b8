package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// maxToken is the most bytes of a word. What is longer is no word.
const maxToken = 64

// A token is a word of a text.
type token struct{ start, end int }

// tokens calls yield for each word of s, in order. A word is a run of letters
// and digits; in a script without spaces, each pair of letters that stand side
// by side, or a letter alone.
func tokens(s string, yield func(token)) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !asciiWord[c] {
				i++
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unspaced(r):
			i = pairs(s, i, yield)
		case inWord(r):
			end := wordEnd(s, i)
			if end-i <= maxToken && !genitive(s, i, end) {
				yield(token{i, end})
			}
			i = end
		default:
			i += n
		}
	}
}

// asciiWord says which bytes are of words.
var asciiWord = func() (set [utf8.RuneSelf]bool) {
	for c := range set {
		set[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return set
}()

// wordEnd returns where the word ends that begins at i.
func wordEnd(s string, i int) int {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !asciiWord[c] {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !inWord(r) || unspaced(r) {
			return i
		}
		i += n
	}
	return i
}

// singles calls yield for each letter of s that is in a pair and means something
// alone: a question may have it alone.
func singles(s string, yield func(token)) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= 0x2e80 && unicode.Is(unicode.Han, r) {
			yield(token{i, i + n})
		}
		i += n
	}
}

// genitive reports whether a word is the s of "Anna's".
func genitive(s string, i, end int) bool {
	return end-i == 1 && (s[i] == 's' || s[i] == 'S') && i > 1 && (s[i-1] == '\'' || strings.HasSuffix(s[:i], "’"))
}

// pairs yields the pairs of letters from i on and returns where they end.
func pairs(s string, i int, yield func(token)) int {
	start, before := i, -1
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unspaced(r) {
			break
		}
		if before >= 0 {
			yield(token{before, i + n})
		}
		before = i
		i += n
	}
	if before == start {
		yield(token{start, i})
	}
	return i
}

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

// unspaced reports whether r is of a script that does not space words.
func unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

// term returns what a word is compared by: without case and accents, and its
// stem if it is English.
func term(word string) string {
	word = fold(word)
	if len(word) < 3 || len(word) > 40 {
		return word
	}
	for i := 0; i < len(word); i++ {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// fold returns a word without case and accents.
func fold(word string) string {
	ascii := true
	for i := 0; i < len(word) && ascii; i++ {
		ascii = word[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(word)
	}
	if r, _ := utf8.DecodeRuneInString(word); unspaced(r) {
		return strings.ToLower(norm.NFKC.String(word))
	}
	return letters.Replace(strings.Map(unmarked, norm.NFKD.String(strings.ToLower(word))))
}

// unmarked drops the marks that a letter can do without.
func unmarked(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// letters has the letters that are others with something that is no mark.
var letters = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "ð", "d", "þ", "th", "æ", "ae", "œ", "oe", "ı", "i", "ħ", "h", "ς", "σ")
