package query

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// A parser analyses a text in steps; see [Parse].
type parser struct {
	q    Query
	text string
	now  time.Time
	list []token
	keys [][maxPhrase]string // phrases by number of words
	ends [][maxPhrase]int    // tokens after them
	any  []bool              // a phrase of the lexicon starts at the token
	lang string
	lex  lexicon
}

func newParser(text string, now time.Time) *parser {
	p := &parser{text: text, now: now, list: tokenize(text)}
	p.findPhrases()
	p.setLanguage(guessLanguage(p.list))
	return p
}

func (p *parser) setLanguage(lang string) {
	p.lang, p.lex = lang, lexicons[lang]
	p.any = make([]bool, len(p.list))
	for i := range p.list {
		_, p.any[i] = p.lex[senseFirst][p.list[i].text]
	}
}

// findPhrases finds phrases, which signs except hyphens and apostrophes end.
func (p *parser) findPhrases() {
	p.keys, p.ends = make([][maxPhrase]string, len(p.list)), make([][maxPhrase]int, len(p.list))
	for i := range p.list {
		key, at := "", i
		for k := range maxPhrase {
			for k > 0 && at < len(p.list) && p.isJoiner(at) {
				at++
			}
			if at >= len(p.list) || p.list[at].kind == mark || len(key) > 60 {
				break
			}
			if k > 0 {
				key += " "
			}
			key += p.list[at].text
			at++
			p.keys[i][k], p.ends[i][k] = key, at
		}
	}
}

// isJoiner matches hyphens and apostrophes within a word.
func (p *parser) isJoiner(i int) bool {
	t := &p.list[i]
	return t.kind == mark && !t.space && (t.text == "-" || t.text == "'") && i+1 < len(p.list) && !p.list[i+1].space
}

// findSense returns the value and length of the longest phrase with the sense; length 0 is
// none.
func (p *parser) findSense(sense string, i int) (value, n int) {
	if i >= len(p.list) || !p.any[i] || p.list[i].uses&(operator|timed) != 0 {
		return 0, 0
	}
	words := p.lex[sense]
	for k := maxPhrase - 1; k >= 0; k-- {
		if key := p.keys[i][k]; key != "" {
			if v, ok := words[key]; ok {
				return v, p.ends[i][k] - i
			}
		}
	}
	return 0, 0
}

func (p *parser) isMark(i int, signs string) bool {
	return i >= 0 && i < len(p.list) && p.list[i].kind == mark && strings.Contains(signs, p.list[i].text)
}

func (p *parser) tokenAt(i int) token {
	if i < 0 || i >= len(p.list) || p.list[i].uses&operator != 0 {
		return token{kind: mark, value: -1, space: true}
	}
	return p.list[i]
}

// isTight reports whether no space precedes token i.
func (p *parser) isTight(i int) bool { return i > 0 && i < len(p.list) && !p.list[i].space }

// skipSense returns the token after words of the sense.
func (p *parser) skipSense(sense string, i int) int {
	_, n := p.findSense(sense, i)
	return i + n
}

func (p *parser) markUses(i, n int, u uses) {
	for k := i; k < i+n && k < len(p.list); k++ {
		p.list[k].uses |= u
	}
}

// sourceText returns tokens as written.
func (p *parser) sourceText(i, n int) string {
	if n <= 0 {
		return ""
	}
	return p.text[p.list[i].start:p.list[i+n-1].end]
}

type kind uint8

const (
	word   kind = iota // starts with a letter or digit
	number             // digits only
	mark
)

type uses uint8

const (
	operator uses = 1 << iota // of a filter
	timed                     // in an expression of time or an anchor
	must
	not
	prefix
	quoted
	event // of an anchor, without its preposition
)

type token struct {
	text       string // folded
	start, end int    // bytes of the text
	kind       kind
	value      int  // for up to 8 digits, otherwise -1
	upper      bool // capitalized
	caps       bool // two or more capitals, no small letters
	first      bool // starts a sentence
	space      bool // after space or at the start
	uses       uses
}

// tokenize returns at most maxTokens tokens.
func tokenize(text string) []token {
	var list []token
	first, space := true, true
	for at := 0; at < len(text) && len(list) < maxTokens; {
		r, n := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at, space = at+n, true
			continue
		}
		t := token{start: at, end: at + n, kind: mark, value: -1, first: first, space: space}
		if isWordRune(r) {
			t = scanWord(text, t)
			first = false
		} else {
			t.text = normalizeMark(text[at : at+n])
			first = first || r == '.' || r == '?' || r == '!' || r == '\u2026'
		}
		list = append(list, t)
		at, space = t.end, false
	}
	return list
}

func scanWord(text string, t token) token {
	t.kind = number
	small, capital := 0, 0
	at := t.start
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !isWordRune(r) && !unicode.Is(unicode.Mn, r) {
			break
		}
		if r < '0' || r > '9' {
			t.kind = word
		}
		if unicode.IsUpper(r) {
			capital++
			t.upper = t.upper || at == t.start
		} else if unicode.IsLower(r) {
			small++
		}
		at += n
	}
	t.end, t.text = at, lexical.Fold(text[t.start:at])
	t.caps = capital > 1 && small == 0
	if t.kind == number && len(t.text) <= 8 {
		t.value = parseDigits(t.text)
	}
	return t
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// parseDigits returns the value of ASCII digits, or -1.
func parseDigits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}

func normalizeMark(s string) string {
	switch s {
	case "’", "‘", "`", "´":
		return "'"
	case "–", "—", "‐", "‑", "−":
		return "-"
	case "“", "”", "„", "«", "»", "‟":
		return `"`
	}
	return s
}
