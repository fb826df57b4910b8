package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxToken is the most bytes of a word. What is longer is no word.
const maxToken = 64

// A Token is a word of a text: its bytes from Start to End.
type Token struct{ Start, End int }

// Tokens calls yield for each word of s, in order. A word is a run of letters
// and digits of at most 64 bytes; in a script without spaces, each pair of
// letters that stand side by side, or a letter alone. The s of "Anna's" is none.
func Tokens(s string, yield func(Token)) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if !asciiWord[c] {
				i++
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case Unspaced(r):
			i = pairs(s, i, yield)
		case inWord(r):
			end := wordEnd(s, i)
			if end-i <= maxToken && !genitive(s, i, end) {
				yield(Token{i, end})
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
		if !inWord(r) || Unspaced(r) {
			return i
		}
		i += n
	}
	return i
}

// Singles calls yield for each letter of s that is in a pair and means something
// alone: a question may have it alone.
func Singles(s string, yield func(Token)) {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r >= 0x2e80 && unicode.Is(unicode.Han, r) {
			yield(Token{i, i + n})
		}
		i += n
	}
}

// genitive reports whether a word is the s of "Anna's".
func genitive(s string, i, end int) bool {
	return end-i == 1 && (s[i] == 's' || s[i] == 'S') && i > 1 && (s[i-1] == '\'' || strings.HasSuffix(s[:i], "’"))
}

// pairs yields the pairs of letters from i on and returns where they end.
func pairs(s string, i int, yield func(Token)) int {
	start, before := i, -1
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !Unspaced(r) {
			break
		}
		if before >= 0 {
			yield(Token{before, i + n})
		}
		before = i
		i += n
	}
	if before == start {
		yield(Token{start, i})
	}
	return i
}

func inWord(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

// Unspaced reports whether r is of a script that does not space words.
func Unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}
