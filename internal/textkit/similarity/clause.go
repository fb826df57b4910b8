package similarity

// A side is where the reader is of a cause and what comes of it.
type side struct {
	in     bool  // in the clause of a cause
	clause uint8 // that it began in, or else the sentence
	leads  bool  // the clause stands before what comes of it
	first  int   // the first term of the sentence
}

// enter keeps account of the sentence and clause.
func (r *reader) enter(i int) {
	t := &r.tokens[i]
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
	t := &r.tokens[i]
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
	for i := range r.terms {
		t := &r.terms[i]
		if !r.lang.causes || t.id != r.lang.cause || t.is&(opposite|cause) != 0 {
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

// means is the role of what may be who does it, counted that of numbers that have
// no other, and moment that of what something is before or after.
const (
	means   = 2
	counted = 3
	moment  = 4
	first   = 5   // of the roles of other words
	strong  = 128 // is added to roles that turn the meaning
)

// lead gives the next terms a role.
func (r *reader) lead(i int, e entry) {
	r.role, r.led = uint8(first+e.id%(strong-first)), 0
	switch next := i + int(e.words); {
	case e.kind == with:
		r.role = means
	case e.kind == against:
		r.role |= strong
	case e.kind == dated:
		r.role = moment
	case e.kind == role:
	case next < len(r.tokens) && r.tokens[next].kind == number:
		r.role = 0 // by how much
	default:
		r.role = agent
	}
}
