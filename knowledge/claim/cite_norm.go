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

// What ends an address in a text.
const urlRest = `[^\s<>"\x60\[\]|…「」。，\x{e000}\x{e001}]`

// schemed finds an address with its scheme, domained one without that has a path or a
// port, numeric one of a number or of this machine, hosted a host alone, and coded the names
// of publications that stand for one.
var (
	schemed  = regexp.MustCompile(`(?i)^(?:(?:[a-z][a-z0-9+.-]{0,19}:\s?//+|www\d?\.)` + urlRest + `+|(?:https?|ftps?|hxxps?):/{0,3}[a-z0-9]` + urlRest + `*|mailto:[^\s<>"\x60\[\]|]+)`)
	domained = regexp.MustCompile(`(?i)^(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	numeric  = regexp.MustCompile(`(?i)^(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost)(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	hosted   = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?:[^A-Za-z0-9@_.-]|[.-]+(?:[^A-Za-z0-9]|$)|$)`)
	coded    = regexp.MustCompile(`(?i)^(?:doi:?\s{0,2}10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|arxiv:\s?[0-9]{4}\.[0-9]{4,5}(?:v[0-9])?)`)
)

// notDomains are ends of names of files that no domain has; hostDomains are those that a
// host alone is known by, wordDomains of them such as are words of a language, too.
var (
	notDomains  = fieldSet(`js ts jsx tsx go json yaml yml html htm css java cpp hpp exe txt csv pdf xml toml sql log png jpg jpeg gif svg docx xlsx zip tar gz ini cfg conf lock mod sum wasm`)
	hostDomains = fieldSet(`com org net edu gov info int mil io co uk de fr es it eu us ca au jp cn in ch at nl ru br news wiki tv me dev app ai xyz test example invalid online site shop blog club top biz store tech live cloud space
website agency media press science academy health world life today link click page pub pro name museum jobs mobi asia be se no dk fi pl pt cz hu ro gr ie il tr ua kr tw hk sg nz za mx ar cl to cc ws gg onion local`)
	wordDomains = fieldSet(`in it at me us is be so no to do am my de es info name pro top live online space science world life today link page news health media press to museum local example test int io co`)
)

// linkable reports whether an address is known, or a host by its first page.
func (c *citer) linkable(url string) bool {
	if c.url(url) {
		return true
	}
	if strings.ContainsAny(url, "/:") {
		return false
	}
	return c.url("https://"+url) || c.url("https://"+url+"/") || c.url("http://"+url)
}

// hostAt returns the length of the host without more that a text begins with, or 0.
func hostAt(text string) int {
	m := hosted.FindStringSubmatchIndex(text)
	if m == nil {
		return 0
	}
	host, top := text[:m[3]], text[m[2]:m[3]]
	if !hostDomains[top] || wordDomains[top] && strings.Count(host, ".") < 2 && !strings.Contains(host, "-") {
		return 0
	}
	return len(host)
}

// urlAt returns the length of the address that begins at i, or 0.
func urlAt(text string, i int) int {
	c := text[i] | 0x20
	if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
		return 0
	}
	rest := text[i:min(len(text), i+2048)]
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	fresh := i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
	if !fresh && latin(before) {
		return 0
	}
	for _, re := range []*regexp.Regexp{schemed, numeric, coded} {
		if m := re.FindString(rest); m != "" {
			return ended(m)
		}
	}
	if m := domained.FindStringSubmatch(rest); m != nil && !notDomains[strings.ToLower(m[1])] {
		return ended(m[0])
	}
	if strings.ContainsRune("@/._-", before) {
		return 0
	}
	return hostAt(rest)
}

// latin reports whether an address may go on to the left of what begins behind r.
func latin(r rune) bool {
	return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-.", r))
}

// ended returns the length of an address without what belongs to the sentence.
func ended(url string) int {
	for len(url) > 0 {
		switch c := url[len(url)-1]; {
		case strings.IndexByte(".,;:!?'*_~", c) >= 0:
			url = url[:len(url)-1]
		case c == ')' && strings.Count(url, "(") < strings.Count(url, ")"):
			url = url[:len(url)-1]
		default:
			return len(url)
		}
	}
	return 0
}
