package lexical

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

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
