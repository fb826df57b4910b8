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
	// spacedID matches an ID with a separator between letter and number.
	spacedID = regexp.MustCompile(`\b([eE])[ ._#:-]{1,2}([0-9]{1,9})\b`)
	// pandocKey matches Pandoc keys, command TeX commands.
	pandocKey  = regexp.MustCompile(`^\[-?@[^\]\n]{1,200}\]`)
	texCommand = regexp.MustCompile(`^\\(?:[a-zA-Z]{0,10}[cC]ite[a-z]{0,10}|footnote|footnotemark)\*?(?:\[[^\]\n]*\]){0,2}(?:\{[^}\n]*\})?`)
	// turnName matches lookup names of some models.
	turnName       = regexp.MustCompile(`^(?:cite|navlist|filecite)?(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4})+`)
	turnCitation   = regexp.MustCompile(`^(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}|(?:file)?cite(?:[ ]?turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}))+`)
	letteredNumber = regexp.MustCompile(`^[0-9]{1,4}[a-d]$`)
	// authorYear matches the inside of (Smith, 2021; Jones et al., 2020).
	authorYear       = regexp.MustCompile(`^(?:(?:see|see also|cf\.|e\.g\.,?|siehe|vgl\.|voir|véase)\s)?` + oneAuthor + `(?:;\s?` + oneAuthor + `){0,9}$`)
	clauseEnd        = regexp.MustCompile(`^[*_"'”’»)]*(?:\s*[.,;:!?…。，；|\[\n]|\s*$)`)
	raisedTag        = regexp.MustCompile(`(?i)^<sup>[\s\[(]*(?:e?[0-9]{1,9}[a-d]?[\s,;–-]*){1,20}[\s\])]*</sup>`)
	wordedID         = regexp.MustCompile(`(?i)^(?:sources?|evidence|quotes?|quotation|references?|refs?|quelle|beleg|fuente|référence)\s{0,2}(?:no\.?|nr\.?|number|id)?\s?[#:]?\s?(e?[0-9]{1,4})\b`)
	citationFollower = regexp.MustCompile(`(?i)^(?:[*_"'”’»)]*\s*[.,;:!?)\]|\n]|\s*$|\s+(?:and|or|says?|shows?|states?|reports?|confirms?|gives?|names?|mentions?|und|et|y)\b)`)
	plainID          = regexp.MustCompile(`^e[0-9]{1,9}`)

	chessboard = regexp.MustCompile(`(?i)\b(?:chess|schach\w*|échecs|ajedrez|checkmate|gambit|pawns?)\b`)
)

const oneAuthor = `\p{Lu}[\p{L}'’.&-]*(?:(?:\s(?:and|&|und|et|y|van|von|de|der|la|le|of|the|for))?\s\p{Lu}[\p{L}'’.&-]*){0,5}(?:,? et al\.?|,? u\. ?a\.)?(?:,|\set al\.?,?)\s?(?:(?:1[5-9]|20)[0-9]{2}[a-d]?|n\.d\.)(?:[,:]\s?(?:pp?\.\s?)?[0-9]{1,5}(?:[–-][0-9]{1,5})?)?`

var locators = fieldSet("p pp page pages n nn fn note notes nr no s seite seiten l line lines vol ch chap sec section para § web file msg search turn footnote fußnote")

var brackets = map[rune]string{'{': "}", '⟦': "⟧", '〔': "〕", '«': "»", '⟨': "⟩", '〈': "〉", '《': "》", '「': "」", '『': "』", '（': "）", '❲': "❳", '⁅': "⁆", '‹': "›", '〖': "〗", '〚': "〛", '【': "】"}

func (c *citationCleaner) readOtherForm(i int) int {
	r, size := utf8.DecodeRuneInString(c.text[i:])
	switch {
	case r < utf8.RuneSelf && r != '{' && !unicode.IsLetter(r):
		return 0
	case brackets[r] != "":
		return c.readOtherBrackets(i, c.text[i:i+size], brackets[r])
	case isRaised(r) || r == '⁽' || r >= '①' && r <= '⓿' || r >= '❶' && r <= '➓':
		return c.readRaisedNumber(i)
	}
	before, _ := utf8.DecodeLastRuneInString(c.text[:i])
	if i > 0 && (isWordRune(before) || strings.ContainsRune("-_/@&#\\", before)) {
		return 0
	}
	return c.readBareID(i)
}

func (c *citationCleaner) readOtherBrackets(i int, open, shut string) int {
	in, end, ok := c.bracketContent(i, open, shut)
	if !ok {
		return 0
	}
	f, is := c.parseForm(in)
	if is && c.isInCode(i) {
		return 0
	}
	switch {
	case is && len(f.ids) > 0 && (f.hasIntro || c.areCitations(f)):
		return c.writeCitations(i, end, f)
	case is && strings.Contains("⟦〔❲⁅〖〚", open):
		return c.dropCitation(i, end)
	}
	return 0
}

// readRaisedNumber reads superscript or circled numbers as citations, unless they are
// exponents or number an item.
func (c *citationCleaner) readRaisedNumber(i int) int {
	end := i
	circled := false
	for end < len(c.text) {
		r, size := utf8.DecodeRuneInString(c.text[end:])
		ring := r >= '①' && r <= '⓿' || r >= '❶' && r <= '➓'
		if !ring && !isRaised(r) && !strings.ContainsRune("⁽⁾˒", r) && !(r == ',' && end > i && startsRaised(c.text[end+1:])) {
			break
		}
		circled = circled || ring
		end += size
	}
	next, _ := utf8.DecodeRuneInString(c.text[end:])
	first, _ := utf8.DecodeRuneInString(c.text[i:])
	if end == i || circled && c.isLineStart(i) || first >= 0x2080 && first <= 0x2089 || !circled && (unicode.IsLetter(next) || next == '/' || canTakeExponent(c.text[:i])) {
		return 0
	}
	if strings.ContainsFunc(c.text[i:end], func(r rune) bool { return r >= 0x207a && r <= 0x207c || r == 'ⁿ' || r == 'ⁱ' }) {
		return 0
	}
	if c.isInCode(i) {
		return 0
	}
	return c.dropCitation(i, end)
}

func startsRaised(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isRaised(r)
}

// canTakeExponent reports whether a text ends with a number, a unit or a short name, which
// can take an exponent.
func canTakeExponent(text string) bool {
	text = strings.TrimRight(text, "*_⁻⁺")
	word := text[strings.LastIndexFunc(text, func(r rune) bool { return !isWordRune(r) })+1:]
	if word == "" {
		return strings.HasSuffix(text, ")") || strings.HasSuffix(text, "}")
	}
	if isDigitString(word) {
		return len(word) != 4 || word < "1000" || word > "2099"
	}
	return utf8.RuneCountInString(word) <= 2 || exponents[strings.ToLower(word)] || strings.ContainsAny(word, "0123456789")
}

var exponents = fieldSet("sec second seconds min inch inches foot feet mile miles acre acres metre metres meter meters yard yards chi sin cos tan log exp mol bit px kwh rad deg kilometer kilometre kilometers kilometres dm³ hpa mpa kpa mhz ghz khz")

// readBareID reads an ID without brackets, perhaps after a word such as "source".
func (c *citationCleaner) readBareID(i int) int {
	rest := c.text[i:min(len(c.text), i+200)]
	if strings.IndexByte("eEsSqQrRbBfFtTcC", rest[0]) < 0 && rest[0] < utf8.RuneSelf || !strings.ContainsAny(rest[:min(len(rest), 40)], "0123456789") || c.isInCode(i) {
		return 0
	}
	if m := turnCitation.FindString(rest); m != "" {
		return c.dropCitation(i, i+len(m))
	}
	if m := wordedID.FindStringSubmatch(rest); m != nil && citationFollower.MatchString(rest[len(m[0]):]) {
		id := trimIDZeros("e" + strings.TrimLeft(strings.ToLower(m[1]), "e"))
		if c.isKnownID(id) {
			c.write("[" + id + "]")
			return len(m[0])
		}
		return c.dropWords(i, i+len(m[0]))
	}
	m := plainID.FindString(rest)
	next, _ := utf8.DecodeRuneInString(rest[len(m):])
	if m == "" || c.hasChessboard || isWordRune(next) || next == '_' || next == '-' {
		return 0
	}
	if id := trimIDZeros(m); c.isKnownID(id) {
		c.write("[" + id + "]")
		return len(m)
	}
	return c.dropWords(i, i+len(m))
}

// parseLooseForm reads bracketed IDs with trailing words, and names with a year.
func (c *citationCleaner) parseLooseForm(in string) (f citationForm, ok bool) {
	in = spacedID.ReplaceAllString(strings.TrimSpace(in), "$1$2")
	if authorYear.MatchString(in) || shortAuthor.MatchString(in) {
		return citationForm{numbers: true}, true
	}
	at := idWord.FindStringIndex(in)
	if at == nil || at[0] != 0 || len(in) == at[1] || !strings.ContainsAny(in[at[1]:at[1]+1], " ,:;|") {
		return f, false
	}
	for _, id := range idWord.FindAllString(in, 20) {
		f.ids = appendNew(f.ids, trimIDZeros(strings.ToLower(id)))
	}
	f.numbers = true
	return f, true
}

// shortAuthor matches the inside of [Smith 2021].
var shortAuthor = regexp.MustCompile(`^\p{Lu}[\p{L}'’-]+(?: (?:and|&|et|und) \p{Lu}[\p{L}'’-]+| et al\.?)? (?:1[89]|20)[0-9]{2}[a-d]?$`)

// isNumberCitation reports whether a number in parentheses is a citation: at the end of a
// clause, and neither a year nor a repeated number word.
func (c *citationCleaner) isNumberCitation(i int, in string, end int) bool {
	if c.isInCode(i) || !clauseEnd.MatchString(c.text[end:]) || c.isLineStart(i) {
		return false
	}
	for _, w := range formParts.FindAllString(in, -1) {
		if isNumeric(w) && (len(w) > 3 || !isDigitString(w)) {
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

// Private-use runes, which normalizeDisguises strips from texts, mark removals within a round:
// removedMark a citation, removedWordMark a possible part of a sentence.
const (
	removedMark     = "\ue000"
	removedWordMark = "\ue001"
)

// normalizeDisguises replaces look-alikes of brackets, digits and other marks, and removes
// invisible letters.
func normalizeDisguises(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strings.ReplaceAll(disguiseReplacer.Replace(text), " \ue200", "\ue200")
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
	text = disguisedPoint.ReplaceAllString(text, "$1.$2")
	text = disguisedPoint.ReplaceAllString(text, "$1.$2")
	text = disguisedColon.ReplaceAllString(text, "$1:$2")
	return lookAlikeID.ReplaceAllStringFunc(text, func(s string) string {
		open, word := "", s
		if strings.HasPrefix(s, "[") || strings.HasPrefix(s, "(") || strings.HasPrefix(s, "{") {
			open, word = s[:1], s[1:]
		}
		plain := normalizeID(word)
		if open == "" && strings.ContainsFunc(word, isRaised) || plain == word || !isID(strings.ToLower(plain)) {
			return s
		}
		return open + plain
	})
}

var disguiseReplacer = strings.NewReplacer("&#91;", "[", "&#93;", "]", "&lsqb;", "[", "&rsqb;", "]", "&lbrack;", "[", "&rbrack;", "]", "&#x5b;", "[", "&#x5d;", "]", "&#x5B;", "[", "&#x5D;", "]",
	"&colon;", ":", "&sol;", "/", "&#58;", ":", "&#47;", "/", "&#x2f;", "/", "&#x2F;", "/", "&#x3a;", ":", "&#x3A;", ":", "&period;", ".", "&#46;", ".", "&#x2e;", ".", "&#x2E;", ".",
	"［", "[", "］", "]", "｛", "{", "｝", "}", "／", "/", "⁄", "/", "∕", "/", "․", ".", "\u200b", "", "\u200c", "", "\u200d", "", "\u2060", "", "\ufeff", "", "\u00ad", "",
	"\u200e", "", "\u200f", "", "\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "", "\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "")

var (
	disguisedPoint = regexp.MustCompile(`(?i)([a-z0-9-])(?:[．。｡]|\[\.\]|\(\.\)|\{\.\}|\[dot\]|\(dot\))([a-z0-9])`)
	disguisedColon = regexp.MustCompile(`(?i)([a-z])(?:：|\[:\]|\(:\))(//)`)
	// lookAlikeID matches a look-alike of an evidence ID, perhaps after a bracket.
	lookAlikeID = regexp.MustCompile(`[\[({]?[eEеЕｅℯⅇ𝐞𝑒𝖾𝗲][\p{N}]{1,9}`)
)

func isRaised(r rune) bool {
	return r == '²' || r == '³' || r == '¹' || r >= 0x2070 && r <= 0x2089
}

// normalizeID converts an ID-like word to Latin letters and ASCII digits.
func normalizeID(word string) string {
	var b strings.Builder
	for _, r := range word {
		switch {
		case r == 'е' || r == 'Е':
			b.WriteByte('e')
		case r >= 'Ⅰ' && r <= 'Ⅻ' || r >= 'ⅰ' && r <= 'ⅻ':
			b.WriteString(romans[(r-'Ⅰ')%16])
		case unicode.Is(unicode.Nd, r):
			b.WriteByte('0' + byte(digitValue(r)))
		default:
			b.WriteString(norm.NFKC.String(string(r)))
		}
	}
	return b.String()
}

var romans = [16]string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}

func digitValue(r rune) rune {
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
	schemeURL  = regexp.MustCompile(`(?i)^(?:(?:[a-z][a-z0-9+.-]{0,19}:\s?//+|www\d?\.)` + urlRest + `+|(?:https?|ftps?|hxxps?):/{0,3}[a-z0-9]` + urlRest + `*|mailto:[^\s<>"\x60\[\]|]+)`)
	domainURL  = regexp.MustCompile(`(?i)^(?:[a-z0-9](?:[a-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	ipURL      = regexp.MustCompile(`(?i)^(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|localhost)(?::[0-9]{1,5}(?:/` + urlRest + `*)?|/` + urlRest + `*)`)
	bareHost   = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,5}([a-z]{2,24})(?:[^A-Za-z0-9@_.-]|[.-]+(?:[^A-Za-z0-9]|$)|$)`)
	doiOrArXiv = regexp.MustCompile(`(?i)^(?:doi:?\s{0,2}10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|10\.[0-9]{4,9}/[^\s<>"\x60\[\]|]+|arxiv:\s?[0-9]{4}\.[0-9]{4,5}(?:v[0-9])?)`)
)

// notDomains are file extensions that are no domains. hostDomains identify a bare
// host; wordDomains of them are also words.
var (
	notDomains  = fieldSet(`js ts jsx tsx go json yaml yml html htm css java cpp hpp exe txt csv pdf xml toml sql log png jpg jpeg gif svg docx xlsx zip tar gz ini cfg conf lock mod sum wasm`)
	hostDomains = fieldSet(`com org net edu gov info int mil io co uk de fr es it eu us ca au jp cn in ch at nl ru br news wiki tv me dev app ai xyz test example invalid online site shop blog club top biz store tech live cloud space
website agency media press science academy health world life today link click page pub pro name museum jobs mobi asia be se no dk fi pl pt cz hu ro gr ie il tr ua kr tw hk sg nz za mx ar cl to cc ws gg onion local`)
	wordDomains = fieldSet(`in it at me us is be so no to do am my de es info name pro top live online space science world life today link page news health media press to museum local example test int io co`)
)

func (c *citationCleaner) isLinkable(url string) bool {
	if c.isKnownURL(url) {
		return true
	}
	if strings.ContainsAny(url, "/:") {
		return false
	}
	return c.isKnownURL("https://"+url) || c.isKnownURL("https://"+url+"/") || c.isKnownURL("http://"+url)
}

func hostLength(text string) int {
	m := bareHost.FindStringSubmatchIndex(text)
	if m == nil {
		return 0
	}
	host, top := text[:m[3]], text[m[2]:m[3]]
	if !hostDomains[top] || wordDomains[top] && strings.Count(host, ".") < 2 && !strings.Contains(host, "-") {
		return 0
	}
	return len(host)
}

func urlLength(text string, i int) int {
	c := text[i] | 0x20
	if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
		return 0
	}
	rest := text[i:min(len(text), i+2048)]
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	fresh := i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
	if !fresh && isLatin(before) {
		return 0
	}
	for _, re := range []*regexp.Regexp{schemeURL, ipURL, doiOrArXiv} {
		if m := re.FindString(rest); m != "" {
			return trimmedURLLength(m)
		}
	}
	if m := domainURL.FindStringSubmatch(rest); m != nil && !notDomains[strings.ToLower(m[1])] {
		return trimmedURLLength(m[0])
	}
	if strings.ContainsRune("@/._-", before) {
		return 0
	}
	return hostLength(rest)
}

func isLatin(r rune) bool {
	return r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("+-.", r))
}

// trimmedURLLength returns the length of an address without trailing punctuation of the sentence.
func trimmedURLLength(url string) int {
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
