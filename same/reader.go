package same

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Weights of terms. They stand for how rare a word is: few words are common
// enough to say little, and those have tables.
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
	cjk     *language
	english *language
	stems   []string
	key     []byte
	negate  bool  // the next term is negated
	role    uint8 // of the next terms
	led     int   // how many terms have it
	marked  int   // how many terms there are at the last particle
	side    side
}

// A side is where the reader is of a cause and what comes of it.
type side struct {
	in     bool  // in the clause of a cause
	clause uint8 // that it began in, or else the sentence
	leads  bool  // the clause stands before what comes of it
	first  int   // the first term of the sentence
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

// enter keeps account of the sentence and clause.
func (r *reader) enter(i int) {
	t := r.tokens[i]
	if t.first {
		r.trail()
		r.side = side{clause: t.clause, first: len(r.terms)}
		r.role, r.marked = 0, len(r.terms)
	}
	if r.side.in && r.side.leads && t.clause != r.side.clause {
		r.side.in = false // "because A, B"
	}
	if i > 0 && t.clause != r.tokens[i-1].clause {
		r.role = 0
	}
}

// trail gives a negation that nothing followed to the term before it.
func (r *reader) trail() {
	if r.negate && len(r.terms) > 0 {
		r.terms[len(r.terms)-1].is ^= negated
	}
	r.negate = false
}

// find returns the longest entry that begins at a token, in its clause.
func (r *reader) find(l *language, i int) (best entry, ok bool) {
	asks := r.tokens[i].asks && r.begins(i)
	r.key = r.key[:0]
	for n := 0; n < l.long && i+n < len(r.tokens); n++ {
		t := r.tokens[i+n]
		if t.kind != r.tokens[i].kind || t.clause != r.tokens[i].clause {
			break
		}
		w := t.text
		if t.kind == word {
			w = r.stems[i+n]
			if n > 0 {
				r.key = append(r.key, ' ')
			}
		}
		r.key = append(r.key, w...)
		e, found := l.asks[string(r.key)]
		if !asks || !found || r.degree(i, n) {
			if n == 0 {
				e, found = l.single(t.text, w)
			} else {
				e, found = l.table[string(r.key)]
			}
		}
		if found && (e.kind != when || !asks) {
			best, ok = e, true
			best.words = uint8(n + 1)
		}
	}
	return best, ok
}

// degree reports whether the words before a token ask to what degree something
// is so: "how reliable", not "how do". Then it is no other question than the one
// whether it is.
func (r *reader) degree(i, n int) bool {
	if r.lang.name != "en" || n > 0 || r.tokens[i].text != "how" || i+1 == len(r.tokens) {
		return false
	}
	next := r.tokens[i+1].text
	return !r.lang.stops[next] && !helping[next]
}

// helping has the verbs that may follow "how".
var helping = words("is are was were be do does did can could will would should shall may might must has have had not the to a an")

// compared returns the entry of the English adjective that a comparative or an
// adverb is made from.
func (r *reader) compared(w string) (e entry, ok bool) {
	if r.lang.name != "en" || len(w) < 5 {
		return e, false
	}
	cut := ""
	for _, end := range []string{"er", "est", "ly"} {
		if c, found := strings.CutSuffix(w, end); found {
			cut = c
		}
	}
	if cut == "" {
		return e, false
	}
	for _, base := range []string{cut, cut + "e", strings.TrimSuffix(cut, "i") + "y", cut[:len(cut)-1], cut + "le"} {
		if e, ok = r.lang.single(base, r.lang.base(base)); ok && (e.kind == concept || e.kind == quant) {
			e.words = 1
			return e, true
		}
	}
	return e, false
}

// begins reports whether a sentence begins at a token, or with one word before it.
func (r *reader) begins(i int) bool {
	return r.tokens[i].first || r.tokens[i-1].first
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
		if next := i + n; (t.id == r.nearly()) && next < len(r.tokens) && r.tokens[next].kind == number {
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

// not turns the next term round. "Nobody" is "not everybody" here.
func (r *reader) not(i int) {
	r.nots = bump(r.nots)
	r.negate = !r.negate
	t := r.tokens[i].text
	if t == "nobody" || t == "niemand" || t == "nadie" || t == "no" && i+1 < len(r.tokens) && r.tokens[i+1].text == "one" {
		if e, ok := r.lang.exact[all[r.lang.name]]; ok {
			r.add(i, term{id: e.id, weight: medium, is: quantity})
		}
	}
}

// all is a word for all in each language.
var all = map[string]string{"en": "all", "de": "alle", "es": "todos"}

// condition begins a clause that a cause or condition is in. Where a sentence
// begins it ends with the clause.
func (r *reader) condition(i int) {
	t := r.tokens[i]
	r.side.in, r.side.clause, r.side.leads = true, t.clause, r.begins(i)
}

// therefore makes what the sentence said, or the one before, a cause.
func (r *reader) therefore(i int) {
	from, end := r.side.first, len(r.terms)
	if from > 0 && r.tokens[i].clause == r.side.clause {
		end = from
		for place := r.terms[from-1].place >> 8; from > 0 && r.terms[from-1].place>>8 == place; {
			from--
		}
	}
	for j := from; j < end; j++ {
		r.terms[j].is |= cause
	}
	r.side.in = false
}

// causes makes what stands before a verb that says that one thing causes another
// a cause, or what stands behind it in the passive.
func (r *reader) causes() {
	e, ok := r.lang.exact[causing[r.lang.name]]
	for i := range r.terms {
		t := &r.terms[i]
		if !ok || t.id != e.id || t.is&(opposite|cause) != 0 {
			continue
		}
		passive := t.is&converse != 0
		for j := range r.terms {
			passive = passive || j > i && r.terms[j].role == agent && r.terms[j].place>>8 == t.place>>8
		}
		for j := range r.terms {
			x := &r.terms[j]
			if x.place>>8 == t.place>>8 && (!passive && j < i || passive && j > i && (x.role == agent || t.is&converse != 0)) {
				x.is |= cause
			}
		}
	}
}

// causing is a word for causing in each language.
var causing = map[string]string{"en": "cause", "de": "verursachen", "fr": "causer", "es": "causar"}

// agent is the role of who does it where that is not the subject.
const agent = 1

// maxLed is how many terms have the role of the word before them, at most.
const maxLed = 3

// determiner has the words that begin another part of a sentence.
var determiner = words("the a an this these those its their our his her my your die das ein eine le la les un une el los las unos")

// genitive has the words that join a thing to the one before.
var genitive = words("of de du des del d")

// means is the role of what may be who does it, and counted that of numbers that
// have no other.
const (
	means   = 2
	counted = 3
	strong  = 128 // is added to roles that turn the meaning
)

// lead gives the next terms a role.
func (r *reader) lead(i int, e entry) {
	r.role, r.led = uint8(4+e.id%120), 0
	switch next := i + int(e.words); {
	case e.kind == with:
		r.role = means
	case e.kind == against:
		r.role |= strong
	case e.kind == role:
	case next < len(r.tokens) && r.tokens[next].kind == number:
		r.role = 0 // by how much
	default:
		r.role = agent
	}
}

// words returns a set of words.
func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

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
	m.rest = r.without(t.text)
	r.add(i, m)
}

// without returns the id of a word without a negative prefix, 0 if it has none.
func (r *reader) without(text string) uint32 {
	for _, p := range r.lang.un {
		rest, ok := strings.CutPrefix(text, p)
		if !ok || len(rest) < 4 {
			continue
		}
		stem := r.lang.base(rest)
		if e, ok := r.lang.single(rest, stem); ok && e.kind == concept {
			return e.id
		}
		return hash(r.root(stem))
	}
	return 0
}

// root returns what a stem is made from, in English.
func (r *reader) root(stem string) string {
	if r.lang.name == "en" {
		return root(stem)
	}
	return stem
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

// amount adds a number with its unit and returns how many tokens it is.
func (r *reader) amount(i int, value float64, n int) int {
	dimension := ""
	if i > 0 && r.tokens[i-1].kind == mark {
		if u, ok := units[r.tokens[i-1].text]; ok {
			dimension = u.dimension
		}
	}
	for i+n < len(r.tokens) {
		t := r.tokens[i+n]
		if t.sentence != r.tokens[i].sentence {
			break
		}
		if f, ok := scales[t.text]; ok {
			value, n = value*f, n+1
			continue
		}
		if f, ok := fractions[strings.TrimSuffix(t.text, "s")]; ok && value < 10 {
			value, dimension, n = value*f, "share", n+1
			break
		}
		if u, ok := units[t.text]; ok || unitOf(t, &u) {
			value, dimension, n = value*u.factor, u.dimension, n+1
		} else if t.text == "per" && i+n+1 < len(r.tokens) && r.tokens[i+n+1].text == "cent" {
			value, dimension, n = value*0.01, "share", n+2
		}
		break
	}
	r.value(i, value, dimension)
	return n
}

// unitOf finds the unit of a word in the plural.
func unitOf(t token, u *unit) (ok bool) {
	if t.kind != word || len(t.text) < 2 {
		return false
	}
	for _, end := range []string{"s", "n", "en", "e", "es"} {
		if w, cut := strings.CutSuffix(t.text, end); cut && w != "" {
			if *u, ok = units[w]; ok {
				return true
			}
		}
	}
	return false
}

func (r *reader) value(i int, value float64, dimension string) {
	text := strconv.FormatFloat(value, 'g', 9, 64) + " " + dimension
	r.add(i, term{id: hash("#" + text), weight: known, is: amount})
}

// worded adds a number of words and returns how many tokens it is, or 0.
func (r *reader) worded(i int) int {
	t := r.tokens[i]
	if v, ok := numberWords[t.text]; ok {
		n := 1
		if i+1 < len(r.tokens) && v >= 20 && math.Mod(v, 10) == 0 {
			if u, ok := numberWords[r.tokens[i+1].text]; ok && u < 10 {
				v, n = v+u, 2
			}
		}
		return r.amount(i, v, n)
	}
	next := ""
	if i+1 < len(r.tokens) {
		next = r.tokens[i+1].text
	}
	if t.text == "one" || t.text == "a" || t.text == "an" {
		if _, ok := scales[next]; ok && len(next) > 2 {
			return r.amount(i, 1, 1)
		}
		if f, ok := fractions[next]; ok && r.after(i+2) {
			r.value(i, f, "share")
			return 2
		}
		return 0
	}
	if f, ok := fractions[t.text]; ok && (r.after(i+1) || t.text == "half") {
		r.value(i, f, "share")
		return 1
	}
	return 0
}

// after reports whether the word at i says that a share was before it.
func (r *reader) after(i int) bool {
	return i < len(r.tokens) && slices.Contains([]string{"of", "the", "der", "des", "de", "du", "del"}, r.tokens[i].text)
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
