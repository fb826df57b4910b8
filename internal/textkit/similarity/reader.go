package similarity

import (
	"strings"
)

// Weights of terms approximate inverse term frequency, which a single text cannot show: the tables
// hold common words. Set by hand. A listed word weighs less than an unlisted one, because its
// partner may be missing from the tables.
const (
	heavy  = 4 // in no table
	known  = 3 // in a table
	medium = 2 // a quantifier
	slight = 1 // a light word
	naming = 5 // a name
)

// A reader converts tokens to terms. It is reused for other texts.
type reader struct {
	Text
	scanner
	lang   *language
	negate bool  // the next term is negated
	role   uint8 // of the next terms
	led    int   // number of terms with that role
	marked int   // number of terms at the last particle
	side   side
	room   [maxTerms]term
}

// readText fills t from text with a pooled reader.
func read(text string, t Text) Text {
	x := tables()
	r, ok := x.readers.Get().(*reader)
	if !ok {
		r = &reader{scanner: scanner{words: x}}
	}
	defer x.readers.Put(r)
	r.Text, r.terms = t, r.room[:0]
	r.negate, r.role, r.led, r.marked, r.side = false, 0, 0, 0, side{}
	r.read(text)
	t, r.Text = r.Text, Text{}
	t.terms = make([]term, len(t.terms)) // exact size
	copy(t.terms, r.room[:])
	r.scanner.free()
	return t
}

// readTerms fills the terms.
func (r *reader) read(text string) {
	r.scan(text, true)
	at := r.detect(text)
	r.lang = r.words.list[at]
	if r.pointed && (at == 1 || at == 2 || at == 3) {
		r.scan(text, false)
	}
	r.strict = at == 1 || at == unknown
	r.cut = len(r.tokens) == maxTokens
	for i := range r.tokens {
		switch t := &r.tokens[i]; t.kind {
		case word:
			t.sense = r.lang.sense(t.lexeme)
		case han:
			t.sense = r.words.cjk.sense(t.lexeme)
		}
	}
	for i := 0; i < len(r.tokens); {
		i += max(1, r.take(i))
	}
	r.trail()
	r.causes()
	if len(r.tokens) > 0 {
		r.asks = r.tokens[len(r.tokens)-1].asks
	}
	if r.asks {
		r.wants = r.wanted()
	}
}

// readToken reads the entry or word at token i and returns the number of tokens used.
func (r *reader) take(i int) int {
	t := &r.tokens[i]
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
	e, ok := r.find(i)
	if !ok && !t.stop {
		e, ok = t.other, t.made
	}
	if ok {
		return r.entry(i, e)
	}
	if t.stop {
		if r.led > 0 && t.lexeme.is&opens != 0 && r.tokens[max(0, i-1)].lexeme.is&belonging == 0 {
			r.role = 0
		}
		return 1
	}
	r.plain(i)
	return 1
}

// applyEntry applies an entry and returns the number of tokens used.
func (r *reader) entry(i int, e entry) int {
	n := int(e.words)
	t := term{id: e.id, rest: bare, is: e.is}
	if r.tokens[i].kind == word {
		t.rest = r.tokens[i].rest
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
		if e.is&converse != 0 {
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
		if next := i + n; t.id == r.lang.nearly && next < len(r.tokens) && r.tokens[next].kind == number {
			return n
		}
		t.weight, t.is = medium, t.is|decisive
	case light:
		t.weight = slight
	case concept:
		t.weight = known
	case dated:
		t.weight = known
		r.lead(i, e)
	case ask:
		t.weight, t.is = known, asking
	}
	r.add(i, t)
	if e.kind == dated {
		r.led = 0 // the role applies to the next terms, not to the word
	}
	return n
}

// noWord is the rest of a term that is no word.
var bare = hash("~")

// addUnlisted adds a word that no table has.
func (r *reader) plain(i int) {
	t := &r.tokens[i]
	m := t.plain
	if t.name && r.lang.name != "de" {
		m.weight = naming
	}
	r.add(i, m)
}

// add appends a term.
func (r *reader) add(i int, t term) {
	if len(r.terms) == maxTerms {
		r.cut = true
		return
	}
	at := &r.tokens[i]
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

// addSign adds the meaning of a sign.
func (r *reader) sign(i int) int {
	sign := r.tokens[i].text
	if e, ok := r.lang.exact[meaning(sign)]; ok {
		e.words = 1
		return r.entry(i, e)
	}
	if sign == "+" {
		r.add(i, term{id: hash("+"), weight: slight})
	}
	return 1
}

// signWord returns the English word for a sign.
func meaning(sign string) string {
	switch sign {
	case "<", "≤":
		return "less"
	case ">", "≥":
		return "more"
	case "≠":
		return "different"
	case "=":
		return "equal"
	case "→":
		return "cause"
	}
	return ""
}

// addLetter reads a word or letter of a script without spaces.
func (r *reader) letter(i int) int {
	t := &r.tokens[i]
	r.strict = true
	if e, ok := r.find(i); ok {
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
			r.terms[j].is |= cause // the object of the verb
		}
		return 1
	case strings.Contains("がはもにでとへ", t.text):
		r.marked = len(r.terms)
		return 1
	case t.text >= "ぁ" && t.text <= "ゖ" || t.stop:
		return 1
	}
	r.add(i, term{id: hash(t.text), weight: known, is: noun})
	return 1
}
