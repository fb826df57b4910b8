package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Citation notations other than IDs and numbers in square brackets.
var (
	// parted matches an ID with a separator between letter and number.
	parted = regexp.MustCompile(`\b([eE])[ ._#:-]{1,2}([0-9]{1,9})\b`)
	// keyed matches Pandoc keys, command TeX commands.
	keyed   = regexp.MustCompile(`^\[-?@[^\]\n]{1,200}\]`)
	command = regexp.MustCompile(`^\\(?:[a-zA-Z]{0,10}[cC]ite[a-z]{0,10}|footnote|footnotemark)\*?(?:\[[^\]\n]*\]){0,2}(?:\{[^}\n]*\})?`)
	// turn matches lookup names of some models.
	turn          = regexp.MustCompile(`^(?:cite|navlist|filecite)?(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4})+`)
	turned        = regexp.MustCompile(`^(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}|(?:file)?cite(?:[ ]?turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}))+`)
	lettredNumber = regexp.MustCompile(`^[0-9]{1,4}[a-d]$`)
	// authorYear matches the inside of (Smith, 2021; Jones et al., 2020).
	authorYear = regexp.MustCompile(`^(?:(?:see|see also|cf\.|e\.g\.,?|siehe|vgl\.|voir|véase)\s)?` + oneAuthor + `(?:;\s?` + oneAuthor + `){0,9}$`)
	clauseEnd  = regexp.MustCompile(`^[*_"'”’»)]*(?:\s*[.,;:!?…。，；|\[\n]|\s*$)`)
	raisedTag  = regexp.MustCompile(`(?i)^<sup>[\s\[(]*(?:e?[0-9]{1,9}[a-d]?[\s,;–-]*){1,20}[\s\])]*</sup>`)
	spokenForm = regexp.MustCompile(`(?i)^(?:sources?|evidence|quotes?|quotation|references?|refs?|quelle|beleg|fuente|référence)\s{0,2}(?:no\.?|nr\.?|number|id)?\s?[#:]?\s?(e?[0-9]{1,4})\b`)
	saysNext   = regexp.MustCompile(`(?i)^(?:[*_"'”’»)]*\s*[.,;:!?)\]|\n]|\s*$|\s+(?:and|or|says?|shows?|states?|reports?|confirms?|gives?|names?|mentions?|und|et|y)\b)`)
	plainID    = regexp.MustCompile(`^e[0-9]{1,9}`)

	chessboard = regexp.MustCompile(`(?i)\b(?:chess|schach\w*|échecs|ajedrez|checkmate|gambit|pawns?)\b`)
)

const oneAuthor = `\p{Lu}[\p{L}'’.&-]*(?:(?:\s(?:and|&|und|et|y|van|von|de|der|la|le|of|the|for))?\s\p{Lu}[\p{L}'’.&-]*){0,5}(?:,? et al\.?|,? u\. ?a\.)?(?:,|\set al\.?,?)\s?(?:(?:1[5-9]|20)[0-9]{2}[a-d]?|n\.d\.)(?:[,:]\s?(?:pp?\.\s?)?[0-9]{1,5}(?:[–-][0-9]{1,5})?)?`

var locators = fieldSet("p pp page pages n nn fn note notes nr no s seite seiten l line lines vol ch chap sec section para § web file msg search turn footnote fußnote")

var brackets = map[rune]string{'{': "}", '⟦': "⟧", '〔': "〕", '«': "»", '⟨': "⟩", '〈': "〉", '《': "》", '「': "」", '『': "』", '（': "）", '❲': "❳", '⁅': "⁆", '‹': "›", '〖': "〗", '〚': "〛", '【': "】"}

func (c *citer) otherForm(i int) int {
	r, size := utf8.DecodeRuneInString(c.text[i:])
	switch {
	case r < utf8.RuneSelf && r != '{' && !unicode.IsLetter(r):
		return 0
	case brackets[r] != "":
		return c.inBrackets(i, c.text[i:i+size], brackets[r])
	case raised(r) || r == '⁽' || r >= '①' && r <= '⓿' || r >= '❶' && r <= '➓':
		return c.raisedNumber(i)
	}
	before, _ := utf8.DecodeLastRuneInString(c.text[:i])
	if i > 0 && (wordy(before) || strings.ContainsRune("-_/@&#\\", before)) {
		return 0
	}
	return c.spokenID(i)
}

func (c *citer) inBrackets(i int, open, shut string) int {
	in, end, ok := c.inside(i, open, shut)
	if !ok {
		return 0
	}
	f, is := c.form(in)
	if is && c.inCode(i) {
		return 0
	}
	switch {
	case is && len(f.ids) > 0 && (f.led || c.meant(f)):
		return c.cite(i, end, f)
	case is && strings.Contains("⟦〔❲⁅〖〚", open):
		return c.drop(i, end)
	}
	return 0
}

// raisedNumber reads superscript or circled numbers as citations, unless they are
// exponents or number an item.
func (c *citer) raisedNumber(i int) int {
	end := i
	circled := false
	for end < len(c.text) {
		r, size := utf8.DecodeRuneInString(c.text[end:])
		ring := r >= '①' && r <= '⓿' || r >= '❶' && r <= '➓'
		if !ring && !raised(r) && !strings.ContainsRune("⁽⁾˒", r) && !(r == ',' && end > i && nextRaised(c.text[end+1:])) {
			break
		}
		circled = circled || ring
		end += size
	}
	next, _ := utf8.DecodeRuneInString(c.text[end:])
	first, _ := utf8.DecodeRuneInString(c.text[i:])
	if end == i || circled && c.begins(i) || first >= 0x2080 && first <= 0x2089 || !circled && (unicode.IsLetter(next) || next == '/' || unitBefore(c.text[:i])) {
		return 0
	}
	if strings.ContainsFunc(c.text[i:end], func(r rune) bool { return r >= 0x207a && r <= 0x207c || r == 'ⁿ' || r == 'ⁱ' }) {
		return 0
	}
	if c.inCode(i) {
		return 0
	}
	return c.drop(i, end)
}

func nextRaised(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return raised(r)
}

// unitBefore reports whether a text ends with a number, a unit or a short name, which
// can take an exponent.
func unitBefore(text string) bool {
	text = strings.TrimRight(text, "*_⁻⁺")
	word := text[strings.LastIndexFunc(text, func(r rune) bool { return !wordy(r) })+1:]
	if word == "" {
		return strings.HasSuffix(text, ")") || strings.HasSuffix(text, "}")
	}
	if numbered(word) {
		return len(word) != 4 || word < "1000" || word > "2099"
	}
	return utf8.RuneCountInString(word) <= 2 || exponents[strings.ToLower(word)] || strings.ContainsAny(word, "0123456789")
}

var exponents = fieldSet("sec second seconds min inch inches foot feet mile miles acre acres metre metres meter meters yard yards chi sin cos tan log exp mol bit px kwh rad deg kilometer kilometre kilometers kilometres dm³ hpa mpa kpa mhz ghz khz")

// spokenID reads an ID without brackets, perhaps after a word such as "source".
func (c *citer) spokenID(i int) int {
	rest := c.text[i:min(len(c.text), i+200)]
	if strings.IndexByte("eEsSqQrRbBfFtTcC", rest[0]) < 0 && rest[0] < utf8.RuneSelf || !strings.ContainsAny(rest[:min(len(rest), 40)], "0123456789") || c.inCode(i) {
		return 0
	}
	if m := turned.FindString(rest); m != "" {
		return c.drop(i, i+len(m))
	}
	if m := spokenForm.FindStringSubmatch(rest); m != nil && saysNext.MatchString(rest[len(m[0]):]) {
		id := unpadded("e" + strings.TrimLeft(strings.ToLower(m[1]), "e"))
		if c.id(id) {
			c.write("[" + id + "]")
			return len(m[0])
		}
		return c.dropWords(i, i+len(m[0]))
	}
	m := plainID.FindString(rest)
	next, _ := utf8.DecodeRuneInString(rest[len(m):])
	if m == "" || c.board || wordy(next) || next == '_' || next == '-' {
		return 0
	}
	if id := unpadded(m); c.id(id) {
		c.write("[" + id + "]")
		return len(m)
	}
	return c.dropWords(i, i+len(m))
}

// loose reads bracketed IDs with trailing words, and names with a year.
func (c *citer) loose(in string) (f form, ok bool) {
	in = parted.ReplaceAllString(strings.TrimSpace(in), "$1$2")
	if authorYear.MatchString(in) || shortAuthor.MatchString(in) {
		return form{numbers: true}, true
	}
	at := idWord.FindStringIndex(in)
	if at == nil || at[0] != 0 || len(in) == at[1] || !strings.ContainsAny(in[at[1]:at[1]+1], " ,:;|") {
		return f, false
	}
	for _, id := range idWord.FindAllString(in, 20) {
		f.ids = appendNew(f.ids, unpadded(strings.ToLower(id)))
	}
	f.numbers = true
	return f, true
}

// shortAuthor matches the inside of [Smith 2021].
var shortAuthor = regexp.MustCompile(`^\p{Lu}[\p{L}'’-]+(?: (?:and|&|et|und) \p{Lu}[\p{L}'’-]+| et al\.?)? (?:1[89]|20)[0-9]{2}[a-d]?$`)

// counted reports whether a number in parentheses is a citation: at the end of a
// clause, and neither a year nor a repeated number word.
func (c *citer) counted(i int, in string, end int) bool {
	if c.inCode(i) || !clauseEnd.MatchString(c.text[end:]) || c.begins(i) {
		return false
	}
	for _, w := range formParts.FindAllString(in, -1) {
		if digitsOnly(w) && (len(w) > 3 || !numbered(w)) {
			return false
		}
	}
	before := strings.Fields(c.text[max(0, i-60):i])
	return len(before) > 0 && !slices.ContainsFunc(before[len(before)-1:], func(w string) bool {
		return numberWords[strings.ToLower(strings.Trim(w, ",;*_"))] || strings.ContainsAny(w, "0123456789") && len(w) != 4
	})
}

var numberWords = fieldSet(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred aged age figure table chapter equation step
ein eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf un deux trois quatre cinq six sept huit neuf dix uno dos tres cuatro cinco seis siete ocho nueve diez`)

// Private-use runes, which disguises strips from texts, mark removals within a round:
// gone a citation, goneWord a possible part of a sentence.
const (
	gone     = "\ue000"
	goneWord = "\ue001"
)

// disguises replaces look-alikes of brackets, digits and other marks, and removes
// invisible letters.
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
	pointed = regexp.MustCompile(`(?i)([a-z0-9-])(?:[．。｡]|\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\))([a-z0-9])`)
	colons  = regexp.MustCompile(`(?i)([a-z])(?:：|\[:\]|\(:\))(//)`)
	// likeID matches a look-alike of an evidence ID, perhaps after a bracket.
	likeID = regexp.MustCompile(`[\[({]?[eEеЕｅℯⅇ𝐞𝑒𝖾𝗲][\p{N}]{1,9}`)
)

func raised(r rune) bool {
	return r == '²' || r == '³' || r == '¹' || r >= 0x2070 && r <= 0x2089
}

// lookAlikes converts an ID-like word to Latin letters and ASCII digits.
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

const urlRest = `[^\s<>"\x60\[\]|…「」。，\x{e000}\x{e001}]`

// Addresses: schemed have a scheme, domained a path or port, numeric an IP or
// localhost. hosted is a bare host, coded a DOI or arXiv name.
var (
	schemed  = regexp.MustCompile(`(?i)^(?:(?:[a-z][a-z0-9+.-]{0,19}:\s?//+|www\d?\.)` + urlRest + `+|(?:https?|ftps?|hxxps?):/{0,3}[a-z0-9]` + urlRest + `*|mailto:[^\s<>"\x60\[\]|]+)`)
	domained = regexp.MustCompile(`(?i)^(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	numeric  = regexp.MustCompile(`(?i)^(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost)(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	hosted   = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?:[^A-Za-z0-9@_.-]|[.-]+(?:[^A-Za-z0-9]|$)|$)`)
	coded    = regexp.MustCompile(`(?i)^(?:doi:?\s{0,2}10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|arxiv:\s?[0-9]{4}\.[0-9]{4,5}(?:v[0-9])?)`)
)

// notDomains are file extensions that are no domains. hostDomains identify a bare
// host; wordDomains of them are also words.
var (
	notDomains  = fieldSet(`js ts jsx tsx go json yaml yml html htm css java cpp hpp exe txt csv pdf xml toml sql log png jpg jpeg gif svg docx xlsx zip tar gz ini cfg conf lock mod sum wasm`)
	hostDomains = fieldSet(`com org net edu gov info int mil io co uk de fr es it eu us ca au jp cn in ch at nl ru br news wiki tv me dev app ai xyz test example invalid online site shop blog club top biz store tech live cloud space
website agency media press science academy health world life today link click page pub pro name museum jobs mobi asia be se no dk fi pl pt cz hu ro gr ie il tr ua kr tw hk sg nz za mx ar cl to cc ws gg onion local`)
	wordDomains = fieldSet(`in it at me us is be so no to do am my de es info name pro top live online space science world life today link page news health media press to museum local example test int io co`)
)

func (c *citer) linkable(url string) bool {
	if c.url(url) {
		return true
	}
	if strings.ContainsAny(url, "/:") {
		return false
	}
	return c.url("https://"+url) || c.url("https://"+url+"/") || c.url("http://"+url)
}

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

func latin(r rune) bool {
	return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-.", r))
}

// ended returns the length of an address without trailing punctuation of the sentence.
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
