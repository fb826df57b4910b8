package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxToken limits a word in bytes. Longer runs are no words.
const maxToken = 64

// A Token is the position of a word.
type Token struct{ Start, End int }

// Tokens calls yield for each word of s, in order. A word is a run of at most 64 bytes of letters
// and digits. In scripts without spaces it is each pair of adjacent letters, or a single letter.
// The s of "Anna's" is no word.
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
			i = yieldPairs(s, i, yield)
		case isWordRune(r):
			end := wordEnd(s, i)
			if end-i <= maxToken && !isGenitive(s, i, end) {
				yield(Token{i, end})
			}
			i = end
		default:
			i += n
		}
	}
}

// asciiWord marks the ASCII bytes in words.
var asciiWord = func() (set [utf8.RuneSelf]bool) {
	for c := range set {
		set[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	return set
}()

// wordEnd returns the end of the word at i.
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
		if !isWordRune(r) || Unspaced(r) {
			return i
		}
		i += n
	}
	return i
}

// Singles calls yield for each letter in pairs that has a separate meaning, because a query may
// contain it alone.
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

// isGenitive reports whether a word is the s of "Anna's".
func isGenitive(s string, i, end int) bool {
	return end-i == 1 && (s[i] == 's' || s[i] == 'S') && i > 1 && (s[i-1] == '\'' || strings.HasSuffix(s[:i], "’"))
}

// yieldPairs yields the letter pairs from i and returns their end.
func yieldPairs(s string, i int, yield func(Token)) int {
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

func isWordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) }

// Unspaced reports whether r belongs to a script without spaces between words.
func Unspaced(r rune) bool {
	if r < 0x0e00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar) || r == 'ー'
}
