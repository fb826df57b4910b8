package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// accented and plain have the letters of Western Europe with and without accents.
const (
	accented = "àáâãäåāçèéêëēìíîïīñòóôõöøōùúûüūýÿšžćčńśźż"
	plain    = "aaaaaaaceeeeeiiiiinooooooouuuuuyyszccnszz"
)

// letters has the letters with accents.
var letters = fromPairs()

func fromPairs() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ł': "l"}
	i := 0
	for _, r := range accented {
		m[r] = plain[i : i+1]
		i++
	}
	return m
}

// fold returns a word in lower case without accents.
func fold(word string) string {
	if ascii(word) {
		return strings.ToLower(word)
	}
	var b strings.Builder
	for _, r := range word {
		r = unicode.ToLower(r)
		switch to, ok := letters[r]; {
		case ok:
			b.WriteString(to)
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
