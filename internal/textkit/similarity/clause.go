package similarity

// A causeState is the position of the reader relative to a cause and its effect.
type causeState struct {
	inCause bool  // inside the clause of a cause
	clause  uint8 // of the cause; otherwise that of the sentence
	leads   bool  // the cause precedes its effect
	first   int   // first term of the sentence
}

// trackClause updates the state at each new sentence and clause.
func (r *reader) trackClause(i int) {
	t := &r.tokens[i]
	if t.first {
		r.applyNegation()
		r.side = causeState{clause: t.clause, first: len(r.terms)}
		r.role, r.sinceParticle = 0, len(r.terms)
	}
	if r.side.inCause && r.side.leads && t.clause != r.side.clause {
		r.side.inCause = false // "because A, B"
	}
	if i > 0 && t.clause != r.tokens[i-1].clause {
		r.role = 0
	}
}

// applyNegation gives a pending negation to the last term.
func (r *reader) applyNegation() {
	if r.negate && len(r.terms) > 0 {
		r.terms[len(r.terms)-1].is ^= negated
	}
	r.negate = false
}

// addNegation negates the next term. "Nobody" counts as "not everybody".
func (r *reader) addNegation(i int) {
	r.nots = incrementCapped(r.nots)
	r.negate = !r.negate
	t := r.tokens[i].text
	if t == "nobody" || t == "niemand" || t == "nadie" || t == "no" && i+1 < len(r.tokens) && r.tokens[i+1].text == "one" {
		if e, ok := r.lang.exact[allWords[r.lang.name]]; ok {
			r.addTerm(i, term{id: e.id, weight: weightMedium, is: quantity})
		}
	}
}

// allWords maps each language to its word for "all".
var allWords = map[string]string{"en": "all", "de": "alle", "es": "todos"}

// startCondition starts the clause of a cause or condition. At the start of a sentence, the state
// ends with the clause.
func (r *reader) startCondition(i int) {
	t := &r.tokens[i]
	r.side.inCause, r.side.clause, r.side.leads = true, t.clause, r.isSentenceStart(i)
}

// markCause marks the terms before "therefore" as a cause.
func (r *reader) markCause(i int) {
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
	r.side.inCause = false
}

// markCausatives marks the terms before a verb of causing, or after a passive one, as a cause.
func (r *reader) markCausatives() {
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

// causeWords maps each language to its word for "to cause".
var causeWords = map[string]string{"en": "cause", "de": "verursachen", "fr": "causer", "es": "causar"}

// agent is the role of the agent in a passive clause.
const agent = 1

// maxRoleTerms limits the terms that take the role of the word before them.
const maxRoleTerms = 3

// determiners start another part of a sentence.
var determiners = wordSet("the a an this these those its their our his her my your die das ein eine le la les un une el los las unos")

// genitives join a term to the preceding one.
var genitives = wordSet("of de du des del d")

// Roles of terms.
const (
	means         = 2   // may be the agent
	counted       = 3   // numbers without another role
	moment        = 4   // something is before or after it
	firstWordRole = 5   // the roles of other words start here
	strong        = 128 // set in roles that change the meaning
)

// startRole gives the next terms the role of e.
func (r *reader) startRole(i int, e entry) {
	r.role, r.roleTerms = uint8(firstWordRole+e.id%(strong-firstWordRole)), 0
	switch next := i + int(e.words); {
	case e.kind == kindWith:
		r.role = means
	case e.kind == kindFixedRole:
		r.role |= strong
	case e.kind == kindTime:
		r.role = moment
	case e.kind == kindRole:
	case next < len(r.tokens) && r.tokens[next].kind == number:
		r.role = 0 // an amount of change
	default:
		r.role = agent
	}
}
