package claim

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Notations of citations other than ids and numbers in brackets.
var (
	// parted is an id with something between its letter and its number.
	parted = regexp.MustCompile(`\b([eE])[ ._#:-]{1,2}([0-9]{1,9})\b`)
	// keyed is a citation by a key, as in Pandoc, and command one of TeX.
	keyed   = regexp.MustCompile(`^\[-?@[^\]\n]{1,200}\]`)
	command = regexp.MustCompile(`^\\(?:[a-zA-Z]{0,10}[cC]ite[a-z]{0,10}|footnote|footnotemark)\*?(?:\[[^\]\n]*\]){0,2}(?:\{[^}\n]*\})?`)
	// turn is what some models call what they have looked up.
	turn   = regexp.MustCompile(`^(?:cite|navlist|filecite)?(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4})+`)
	turned = regexp.MustCompile(`^(?:turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}|(?:file)?cite(?:[ ]?turn[0-9]{1,4}[a-z]{1,12}[0-9]{1,4}))+`)
	// lettredNumber is a number with a letter, as 12a.
	lettredNumber = regexp.MustCompile(`^[0-9]{1,4}[a-d]$`)
	// authorYear is what stands between the parentheses of (Smith, 2021; Jones et al., 2020).
	authorYear = regexp.MustCompile(`^(?:(?:see|see also|cf\.|e\.g\.,?|siehe|vgl\.|voir|véase)\s)?` + oneAuthor + `(?:;\s?` + oneAuthor + `){0,9}$`)
	// clauseEnd is what a citation stands before.
	clauseEnd = regexp.MustCompile(`^[*_"'”’»)]*(?:\s*[.,;:!?…。，；|\[\n]|\s*$)`)
	// raisedTag is a number above the line in HTML.
	raisedTag = regexp.MustCompile(`(?i)^<sup>[\s\[(]*(?:e?[0-9]{1,9}[a-d]?[\s,;–-]*){1,20}[\s\])]*</sup>`)
	// spokenForm is an id that words name.
	spokenForm = regexp.MustCompile(`(?i)^(?:sources?|evidence|quotes?|quotation|references?|refs?|quelle|beleg|fuente|référence)\s{0,2}(?:no\.?|nr\.?|number|id)?\s?[#:]?\s?(e?[0-9]{1,4})\b`)
	saysNext   = regexp.MustCompile(`(?i)^(?:[*_"'”’»)]*\s*[.,;:!?)\]|\n]|\s*$|\s+(?:and|or|says?|shows?|states?|reports?|confirms?|gives?|names?|mentions?|und|et|y)\b)`)
	plainID    = regexp.MustCompile(`^e[0-9]{1,9}`)

	chessboard = regexp.MustCompile(`(?i)\b(?:chess|schach\w*|échecs|ajedrez|checkmate|gambit|pawns?)\b`)
)

const oneAuthor = `\p{Lu}[\p{L}'’.&-]*(?:(?:\s(?:and|&|und|et|y|van|von|de|der|la|le|of|the|for))?\s\p{Lu}[\p{L}'’.&-]*){0,5}(?:,? et al\.?|,? u\. ?a\.)?(?:,|\set al\.?,?)\s?(?:(?:1[5-9]|20)[0-9]{2}[a-d]?|n\.d\.)(?:[,:]\s?(?:pp?\.\s?)?[0-9]{1,5}(?:[–-][0-9]{1,5})?)?`

// locators are words before the page or the number of a citation.
var locators = fieldSet("p pp page pages n nn fn note notes nr no s seite seiten l line lines vol ch chap sec section para § web file msg search turn footnote fußnote")

// brackets are other brackets that models cite in.
var brackets = map[rune]string{'{': "}", '⟦': "⟧", '〔': "〕", '«': "»", '⟨': "⟩", '〈': "〉", '《': "》", '「': "」", '『': "』", '（': "）", '❲': "❳", '⁅': "⁆", '‹': "›", '〖': "〗", '〚': "〛", '【': "】"}

// otherForm reads what begins at i if it is a citation in one of the rarer notations.
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

// inBrackets reads ids in brackets of other kinds.
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

// raisedNumber reads numbers above the line or in circles, which are citations unless
// they are exponents, or number an item.
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

// unitBefore reports whether a text ends with what has an exponent: a number, a unit, or
// a name of one or two letters.
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

// exponents are longer words that have exponents.
var exponents = fieldSet("sec second seconds min inch inches foot feet mile miles acre acres metre metres meter meters yard yards chi sin cos tan log exp mol bit px kwh rad deg kilometer kilometre kilometers kilometres dm³ hpa mpa kpa mhz ghz khz")

// spokenID reads an id without brackets, with a word such as "source" before it or not.
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

// loose reads brackets that begin with an id and go on with words, and names with a year.
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

// shortAuthor is what stands between the square brackets of [Smith 2021].
var shortAuthor = regexp.MustCompile(`^\p{Lu}[\p{L}'’-]+(?: (?:and|&|et|und) \p{Lu}[\p{L}'’-]+| et al\.?)? (?:1[89]|20)[0-9]{2}[a-d]?$`)

// counted reports whether a number in parentheses stands as a citation: before the end
// of a clause, and neither a year nor behind the word for it.
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

// numberWords are words that a number in parentheses repeats, or numbers.
var numberWords = fieldSet(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred aged age figure table chapter equation step
ein eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf un deux trois quatre cinq six sept huit neuf dix uno dos tres cuatro cinco seis siete ocho nueve diez`)
