package same

import (
	"slices"
	"strings"
)

// Weights of terms. They stand for how rare a word is, as the inverse frequency
// of terms does, of which a text alone knows nothing: the tables have the words
// that are common enough to say less. Set by hand; a word of a table weighs less
// than one of none because the table may be missing its partner.
const (
	heavy  = 4 // a word that no table has
	known  = 3 // a word of a table
	medium = 2 // a quantifier
	slight = 1 // a light word
	naming = 5 // a name
)

// A reader makes terms of tokens.
type reader struct {
	Text
	tokens  []token
	lang    *language
	cjk     *language // of the scripts without spaces
	english *language
	stems   []string // of the tokens that are words
	key     []byte   // of the phrase that is looked for
	negate  bool     // the next term is negated
	role    uint8    // of the next terms
	led     int      // how many terms have it
	marked  int      // how many terms there are at the last particle
	side    side
}

// read fills the terms.
func (r *reader) read(text string) {
	list, cjk := tables()
	r.cjk, r.english = cjk, list[0]
	r.tokens = scan(text, true)
	at := detect(text, r.tokens, list)
	r.lang = list[at]
	if at == 1 || at == 2 || at == 3 {
		r.tokens = scan(text, false)
	}
	r.strict = at == 1 || at == unknown
	r.cut = len(r.tokens) == maxTokens
	for i := range r.tokens {
		w := ""
		if r.tokens[i].kind == word {
			w = r.lang.base(r.tokens[i].text)
		}
		r.stems = append(r.stems, w)
	}
	for i := 0; i < len(r.tokens); {
		i += max(1, r.take(i))
	}
	r.trail()
	r.causes()
	r.terms = slices.Clone(r.terms) // of the length that it needs
	if len(r.tokens) > 0 {
		r.asks = r.tokens[len(r.tokens)-1].asks
	}
}

// take reads what begins at a token and returns how many tokens that is.
func (r *reader) take(i int) int {
	t := r.tokens[i]
	r.enter(i)
	switch t.kind {
	case number:
		return r.amount(i, t.value, 1)
	case han:
		return r.letter(i)
	case mark:
		return r.sign(i)
	}
	if n := r.worded(i); n > 0 {
		return n
	}
	e, ok := r.find(r.lang, i)
	if !ok && !r.lang.stops[t.text] {
		if e, ok = r.compared(t.text); !ok {
			e, ok = r.english.exact[t.text] // "not" is known by all
			e.words, ok = 1, ok && e.kind == not
		}
	}
	if ok {
		return r.entry(i, e)
	}
	if r.lang.stops[t.text] {
		if r.led > 0 && determiner[t.text] && !genitive[r.tokens[max(0, i-1)].text] {
			r.role = 0
		}
		return 1
	}
	r.plain(i)
	return 1
}

// entry adds what an entry says.
func (r *reader) entry(i int, e entry) int {
	n := int(e.words)
	t := term{id: e.id, rest: hash("~" + r.stems[i])}
	if e.opposite {
		t.is |= opposite
	}
	if e.converse {
		t.is |= converse
	}
	if n == 1 && r.tokens[i].name && (e.kind == hedge || e.kind == light) && r.lang.name == "en" {
		r.plain(i) // Go, May
		return 1
	}
	switch e.kind {
	case hedge:
		return n
	case not:
		r.not(i)
		return n
	case when:
		if e.converse {
			r.not(i)
		}
		r.condition(i)
		return n
	case so:
		r.therefore(i)
		return n
	case be:
		t.is = copula
	case than:
		t.is = between
	case by, with, role, against:
		r.lead(i, e)
		return n
	case quant:
		t.weight, t.is = medium, t.is|quantity
	case firm:
		if next := i + n; t.id == r.nearly() && next < len(r.tokens) && r.tokens[next].kind == number {
			return n
		}
		t.weight, t.is = medium, t.is|decisive
	case light:
		t.weight = slight
	case concept:
		t.weight = known
	case ask:
		t.weight, t.is = known, asking
	}
	r.add(i, t)
	return n
}

// nearly returns the id of "nearly", which says little before a number.
func (r *reader) nearly() uint32 { return r.lang.exact["nearly"].id }

// plain adds a word that no table has.
func (r *reader) plain(i int) {
	t := r.tokens[i]
	m := term{weight: heavy, id: hash(r.root(r.stems[i]))}
	adverb := len(t.text) > 5 && strings.HasSuffix(t.text, "ly") && r.lang.name == "en"
	if adverb {
		m.id = hash(r.root(r.lang.stem(t.text[:len(t.text)-2])))
	}
	switch {
	case t.name && r.lang.name != "de":
		m.weight = naming
	case adverb:
		m.weight = slight
	}
	if m.rest = r.without(t.text); m.rest != 0 {
		m.is |= prefixed
	}
	r.add(i, m)
}

// add adds a term.
func (r *reader) add(i int, t term) {
	if len(r.terms) == maxTerms {
		r.cut = true
		return
	}
	at := r.tokens[i]
	if at.upper && r.lang.name == "de" {
		t.is |= noun
	}
	t.place = uint16(at.sentence)<<8 | uint16(at.clause)
	if r.side.in {
		t.is |= cause
	}
	if t.is&special != 0 || r.led == maxLed {
		r.role = 0
	}
	if t.role = r.role; t.role == 0 && t.is&amount != 0 {
		t.role = counted
	}
	r.led++
	if r.negate && t.weight > slight {
		t.is |= negated
		r.negate = false
	}
	r.terms = append(r.terms, t)
}

// sign adds what a sign means.
func (r *reader) sign(i int) int {
	word := map[string]string{"<": "less", "≤": "less", ">": "more", "≥": "more", "≠": "different", "=": "equal", "→": "cause"}[r.tokens[i].text]
	if e, ok := r.lang.exact[word]; ok {
		e.words = 1
		return r.entry(i, e)
	}
	if r.tokens[i].text == "+" {
		r.add(i, term{id: hash("+"), weight: slight})
	}
	return 1
}

// letter reads a word of a script without spaces, or a letter of one that no
// table has.
func (r *reader) letter(i int) int {
	t := r.tokens[i]
	r.strict = true
	if e, ok := r.find(r.cjk, i); ok {
		return r.entry(i, e)
	}
	switch {
	case t.text == "れ":
		if len(r.terms) > 0 {
			r.terms[len(r.terms)-1].is |= converse
		}
		return 1
	case t.text == "を":
		for j := r.marked; j < len(r.terms); j++ {
			r.terms[j].is |= cause // what something is done to
		}
		return 1
	case strings.Contains("がはもにでとへ", t.text):
		r.marked = len(r.terms)
		return 1
	case t.text >= "ぁ" && t.text <= "ゖ" || r.cjk.stops[t.text]:
		return 1
	}
	r.add(i, term{id: hash(t.text), weight: known, is: noun})
	return 1
}
