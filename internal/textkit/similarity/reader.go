package similarity

import (
	"strings"
)

// Weights of terms approximate inverse term frequency, which a single text cannot show: the tables
// hold common words. Set by hand. A listed word weighs less than an unlisted one, because its
// partner may be missing from the tables.
const (
	weightUnlisted = 4 // in no table
	weightListed   = 3 // in a table
	weightMedium   = 2 // a quantifier
	weightLight    = 1 // a light word
	weightName     = 5 // a name
)

// A reader converts tokens to terms. It is reused for other texts.
type reader struct {
	Text
	scanner
	lang          *language
	negate        bool  // the next term is negated
	role          uint8 // of the next terms
	roleTerms     int   // number of terms with that role
	sinceParticle int   // number of terms at the last particle
	side          causeState
	buffer        [maxTerms]term
}

// readText fills t from text with a pooled reader.
func readText(text string, t Text) Text {
	x := tables()
	r, ok := x.readers.Get().(*reader)
	if !ok {
		r = &reader{scanner: scanner{words: x}}
	}
	defer x.readers.Put(r)
	r.Text, r.terms = t, r.buffer[:0]
	r.negate, r.role, r.roleTerms, r.sinceParticle, r.side = false, 0, 0, 0, causeState{}
	r.readTerms(text)
	t, r.Text = r.Text, Text{}
	t.terms = make([]term, len(t.terms)) // exact size
	copy(t.terms, r.buffer[:])
	r.scanner.releaseBuffers()
	return t
}

func (r *reader) readTerms(text string) {
	r.scan(text, true)
	at := r.detectLanguage(text)
	r.lang = r.words.list[at]
	if r.ambiguousPoint && (at == 1 || at == 2 || at == 3) {
		r.scan(text, false)
	}
	r.finalVerb = at == 1 || at == unknown
	r.truncated = len(r.tokens) == maxTokens
	for i := range r.tokens {
		switch t := &r.tokens[i]; t.kind {
		case word:
			t.sense = r.lang.lookupSense(t.lexeme)
		case glyph:
			t.sense = r.words.cjk.lookupSense(t.lexeme)
		}
	}
	for i := 0; i < len(r.tokens); {
		i += max(1, r.readToken(i))
	}
	r.applyNegation()
	r.markCausatives()
	if len(r.tokens) > 0 {
		r.isQuestion = r.tokens[len(r.tokens)-1].inQuestion
	}
	if r.isQuestion {
		r.askedRole = r.findAskedRole()
	}
}

// readToken reads the entry or word at token i and returns the number of tokens used.
func (r *reader) readToken(i int) int {
	t := &r.tokens[i]
	r.trackClause(i)
	switch t.kind {
	case number:
		return r.addAmount(i, t.value, 1)
	case glyph:
		return r.addLetter(i)
	case mark:
		return r.addSign(i)
	}
	if n := r.addNumberWord(i); n > 0 {
		return n
	}
	e, ok := r.findEntry(i)
	if !ok && !t.stop {
		e, ok = t.derived, t.hasDerived
	}
	if ok {
		return r.applyEntry(i, e)
	}
	if t.stop {
		if r.roleTerms > 0 && t.lexeme.is&opensPhrase != 0 && r.tokens[max(0, i-1)].lexeme.is&joinsTerms == 0 {
			r.role = 0
		}
		return 1
	}
	r.addUnlisted(i)
	return 1
}

// applyEntry applies an entry and returns the number of tokens used.
func (r *reader) applyEntry(i int, e entry) int {
	n := int(e.words)
	t := term{id: e.id, rest: noWord, is: e.is}
	if r.tokens[i].kind == word {
		t.rest = r.tokens[i].rest
	}
	if n == 1 && r.tokens[i].isName && (e.kind == kindHedge || e.kind == kindLight) && r.lang.name == "en" {
		r.addUnlisted(i) // Go, May
		return 1
	}
	switch e.kind {
	case kindHedge:
		return n
	case kindNot:
		r.addNegation(i)
		return n
	case kindCondition:
		if e.is&converse != 0 {
			r.addNegation(i)
		}
		r.startCondition(i)
		return n
	case kindConclusion:
		r.markCause(i)
		return n
	case kindCopula:
		t.is = copula
	case kindComparison:
		t.is = comparison
	case kindAgent, kindWith, kindRole, kindFixedRole:
		r.startRole(i, e)
		return n
	case kindQuant:
		t.weight, t.is = weightMedium, t.is|quantity
	case kindFirm:
		if next := i + n; t.id == r.lang.nearly && next < len(r.tokens) && r.tokens[next].kind == number {
			return n
		}
		t.weight, t.is = weightMedium, t.is|decisive
	case kindLight:
		t.weight = weightLight
	case kindConcept:
		t.weight = weightListed
	case kindTime:
		t.weight = weightListed
		r.startRole(i, e)
	case kindAsk:
		t.weight, t.is = weightListed, questionWord
	}
	r.addTerm(i, t)
	if e.kind == kindTime {
		r.roleTerms = 0 // the role applies to the next terms, not to the word
	}
	return n
}

// noWord is the rest of a term that is no word.
var noWord = hash("~")

// addUnlisted adds a word that no table has.
func (r *reader) addUnlisted(i int) {
	t := &r.tokens[i]
	m := t.unlisted
	if t.isName && r.lang.name != "de" {
		m.weight = weightName
	}
	r.addTerm(i, m)
}

func (r *reader) addTerm(i int, t term) {
	if len(r.terms) == maxTerms {
		r.truncated = true
		return
	}
	at := &r.tokens[i]
	if at.upper && r.lang.name == "de" {
		t.is |= noun
	}
	t.place = uint16(at.sentence)<<8 | uint16(at.clause)
	if r.side.inCause {
		t.is |= cause
	}
	if t.is&structural != 0 || r.roleTerms == maxRoleTerms {
		r.role = 0
	}
	if t.role = r.role; t.role == 0 && t.is&amount != 0 {
		t.role = counted
	}
	r.roleTerms++
	if r.negate && t.weight > weightLight {
		t.is |= negated
		r.negate = false
	}
	r.terms = append(r.terms, t)
}

func (r *reader) addSign(i int) int {
	sign := r.tokens[i].text
	if e, ok := r.lang.exact[signWord(sign)]; ok {
		e.words = 1
		return r.applyEntry(i, e)
	}
	if sign == "+" {
		r.addTerm(i, term{id: hash("+"), weight: weightLight})
	}
	return 1
}

func signWord(sign string) string {
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
func (r *reader) addLetter(i int) int {
	t := &r.tokens[i]
	r.finalVerb = true
	if e, ok := r.findEntry(i); ok {
		return r.applyEntry(i, e)
	}
	switch {
	case t.text == "れ":
		if len(r.terms) > 0 {
			r.terms[len(r.terms)-1].is |= converse
		}
		return 1
	case t.text == "を":
		for j := r.sinceParticle; j < len(r.terms); j++ {
			r.terms[j].is |= cause // the object of the verb
		}
		return 1
	case strings.Contains("がはもにでとへ", t.text):
		r.sinceParticle = len(r.terms)
		return 1
	case t.text >= "ぁ" && t.text <= "ゖ" || t.stop:
		return 1
	}
	r.addTerm(i, term{id: hash(t.text), weight: weightListed, is: noun})
	return 1
}
