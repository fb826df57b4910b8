package claim

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Letters of private use, which are taken out of texts, show within a round what was
// taken out where: gone a citation, goneWord what may have been a part of a sentence.
const (
	gone     = "\ue000"
	goneWord = "\ue001"
)

// disguises writes what stands for brackets, digits and the like as what it stands for,
// and takes out letters that are not seen.
func disguises(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strings.ReplaceAll(hidden.Replace(text), " \ue200", "\ue200")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == 0xe200:
			return ' ' // some models begin a citation with it
		case unicode.Is(unicode.Co, r):
			return -1
		case r >= 'ａ' && r <= 'ｚ' || r >= 'Ａ' && r <= 'Ｚ' || r >= '０' && r <= '９':
			return r - 'ａ' + 'a'
		}
		return r
	}, text)
	text = pointed.ReplaceAllString(text, "$1.$2")
	text = pointed.ReplaceAllString(text, "$1.$2")
	text = colons.ReplaceAllString(text, "$1:$2")
	return likeID.ReplaceAllStringFunc(text, func(s string) string {
		open, word := "", s
		if strings.HasPrefix(s, "[") || strings.HasPrefix(s, "(") || strings.HasPrefix(s, "{") {
			open, word = s[:1], s[1:]
		}
		plain := lookAlikes(word)
		if open == "" && strings.ContainsFunc(word, raised) || plain == word || !isID(strings.ToLower(plain)) {
			return s
		}
		return open + plain
	})
}

var hidden = strings.NewReplacer("&#91;", "[", "&#93;", "]", "&lsqb;", "[", "&rsqb;", "]", "&lbrack;", "[", "&rbrack;", "]", "&#x5b;", "[", "&#x5d;", "]", "&#x5B;", "[", "&#x5D;", "]",
	"&colon;", ":", "&sol;", "/", "&#58;", ":", "&#47;", "/", "&#x2f;", "/", "&#x2F;", "/", "&#x3a;", ":", "&#x3A;", ":", "&period;", ".", "&#46;", ".", "&#x2e;", ".", "&#x2E;", ".",
	"［", "[", "］", "]", "｛", "{", "｝", "}", "／", "/", "⁄", "/", "∕", "/", "․", ".", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	"\u200e", "", "\u200f", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "", "\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

var (
	// pointed is a point in an address that is written as something else.
	pointed = regexp.MustCompile(`(?i)([a-z0-9-])(?:[．。｡]|\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\))([a-z0-9])`)
	// colons are such behind the name of a scheme.
	colons = regexp.MustCompile(`(?i)([a-z])(?:：|\[:\]|\(:\))(//)`)
	// likeID is a word that may look like the id of evidence, with a bracket before it.
	likeID = regexp.MustCompile(`[\[({]?[eEеЕｅℯⅇ𝐞𝑒𝖾𝗲][\p{N}]{1,9}`)
)

// raised reports whether a digit is above or below the line.
func raised(r rune) bool {
	return r == '²' || r == '³' || r == '¹' || r >= 0x2070 && r <= 0x2089
}

// lookAlikes returns a word of an e and digits with those of Latin script.
func lookAlikes(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch {
		case r == 'е' || r == 'Е':
			b.WriteByte('e')
		case r >= 'Ⅰ' && r <= 'Ⅻ' || r >= 'ⅰ' && r <= 'ⅻ':
			b.WriteString(romans[(r-'Ⅰ')%16])
		case unicode.Is(unicode.Nd, r):
			b.WriteByte('0' + byte(digit(r)))
		default:
			b.WriteString(norm.NFKC.String(string(r)))
		}
	}
	return b.String()
}

var romans = [16]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}

// digit returns the value of a digit of any script.
func digit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}
