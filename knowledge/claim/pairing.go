package claim

import "ponder/internal/textkit/lexical"

// A factMention is a figure or date of a sentence and its atom index.
type factMention struct {
	figure figure
	day    day
	isDate bool
	at     int
	text   string
}

func findFactMentions(r *parsedSentence, base int, atoms []atom) (list []factMention) {
	place := func(s span) int {
		for i := range atoms {
			if atoms[i].end > s.start-base {
				return i
			}
		}
		return -1
	}
	for _, f := range r.figures {
		list = append(list, factMention{figure: f, at: place(f.span), text: f.text})
	}
	for _, d := range r.days {
		list = append(list, factMention{day: d, isDate: true, at: place(d.span), text: d.text})
	}
	return list
}

// isSameKind reports whether x and y have one kind, so that one could replace the
// other.
func (x factMention) isSameKind(y factMention) bool {
	if x.isDate || y.isDate {
		return x.isDate && y.isDate
	}
	return x.figure.unit == y.figure.unit && (x.figure.unit != "" || x.figure.noun == y.figure.noun || x.figure.noun == "" || y.figure.noun == "")
}

func (x factMention) isSupportedBy(y factMention) bool {
	if x.isDate {
		return y.isDate && x.day.isSupportedBy(y.day)
	}
	return !y.isDate && x.figure.unit == y.figure.unit && x.figure.compareWith(y.figure) >= roundedFit
}

// itemRange returns the atoms of item k among items of one kind: from its clause to
// the next item's clause. It returns false if two items share a clause.
func itemRange(list []factMention, k int, clause []int) (from, to int, ok bool) {
	from, to = 0, len(clause)
	for i := range list {
		if i == k {
			continue
		}
		switch a, b := list[i].at, list[k].at; {
		case a < 0 || b < 0 || clause[a] == clause[b]:
			return 0, 0, false
		case a < b:
			from = max(from, clauseStart(clause, b))
		default:
			to = min(to, clauseStart(clause, a))
		}
	}
	return from, to, true
}

func clauseStart(clause []int, at int) int {
	for at > 0 && clause[at-1] == clause[at] {
		at--
	}
	return at
}

// findPairMismatch returns a reason if the source gives a figure or date of the claim to another
// subject, and another figure to the claim's subject.
func (b *wordAlignment) findPairMismatch() string {
	mine, theirs := findFactMentions(&b.parsedSentence, 0, b.claimAtoms), findFactMentions(&b.unit.parsedSentence, b.unit.start, b.sourceAtoms)
	ourClauses := clauseIndexes(b.claimAtoms)
	for k, x := range mine {
		own, at := sameKindMentions(mine, k)
		from, to, ok := itemRange(own, at, ourClauses)
		if !ok {
			from, to = 0, 0
		}
		for n, y := range theirs {
			if !x.isSupportedBy(y) {
				continue
			}
			if t := b.findStrayWord(x, from, to, theirs, n); t != "" {
				return "the source says " + y.text + " of " + t
			}
		}
	}
	return ""
}

func sameKindMentions(list []factMention, k int) (own []factMention, at int) {
	for i, x := range list {
		if i == k {
			at = len(own)
		}
		if i == k || x.isSameKind(list[k]) {
			own = append(own, x)
		}
	}
	return own, at
}

// findStrayWord returns the word of the claim that the source connects with another item of
// the kind instead of item n, or "".
func (b *wordAlignment) findStrayWord(x factMention, from, to int, theirs []factMention, n int) string {
	competing, at := sameKindMentions(theirs, n)
	for i, r := range competing {
		if i != at && x.isSupportedBy(r) {
			return ""
		}
	}
	first, end, ok := itemRange(competing, at, b.clauseOf)
	if len(competing) < 2 || !ok {
		return ""
	}
	for i := range b.terms {
		if b.termAtoms[i] < from || b.termAtoms[i] >= to || len(b.termPlaces[i]) == 0 {
			continue
		}
		outside := true
		for _, p := range b.termPlaces[i] {
			outside = outside && (p < first || p >= end)
		}
		if !outside || !b.view.names[i] && b.isFirstTerm(i) {
			continue
		}
		if k := b.findExtraTerm(first, end, i, from, to); k >= 0 {
			return b.unit.terms[k].fold
		}
	}
	return ""
}

// isFirstTerm reports whether term i is the first content word of the sentence, which may be
// the subject of all clauses.
func (b *wordAlignment) isFirstTerm(i int) bool {
	return len(b.unit.terms) > 0 && b.termPlaces[i][0] == b.unit.terms[0].nth
}

// findExtraTerm returns a term of the sentence part in place of term i that the claim part
// lacks, or -1. Both terms must be names, or neither. If the part has another name of
// the claim, both names must follow the same word.
func (b *wordAlignment) findExtraTerm(first, end, i, from, to int) int {
	name, shared, found := b.view.names[i], false, -1
	for k, t := range b.unit.terms {
		if t.nth < first || t.nth >= end || (t.name || t.head) != name || !name && commonWords[t.fold] {
			continue
		}
		switch {
		case b.claimHas(k, from, to):
			shared = true
		case found < 0:
			found = k
		}
	}
	if found < 0 || !name || !shared {
		return found
	}
	n, at := b.unit.terms[found].nth, b.termPlaces[i][0]
	if n > 0 && at > 0 && b.sourceAtoms[n-1].fold == b.sourceAtoms[at-1].fold && lexical.Stop(b.sourceAtoms[n-1].fold, b.lang) {
		return found
	}
	return -1
}

// claimHas reports whether the claim's atoms from..to have term k of the sentence.
func (b *wordAlignment) claimHas(k, from, to int) bool {
	for i := range b.terms {
		if b.termAtoms[i] >= from && b.termAtoms[i] < to && b.supportsTerm(i, b.unit.ids[k]) {
			return true
		}
	}
	return false
}

// findNeighbourMismatch returns a reason if an adjacent sentence has the claim's name with its
// own number.
func (b *wordAlignment) findNeighbourMismatch() (why string) {
	mine, theirs := findFactMentions(&b.parsedSentence, 0, b.claimAtoms), findFactMentions(&b.unit.parsedSentence, b.unit.start, b.sourceAtoms)
	if why = b.findDisplacedNumber(mine, theirs); why != "" || len(b.unit.terms) == 0 || b.claimHas(0, 0, len(b.claimAtoms)) || !b.unit.terms[0].name && !b.unit.terms[0].head {
		return why
	}
	for i := range b.terms {
		if !b.view.names[i] && !b.terms[i].head || len(b.termPlaces[i]) > 0 {
			continue
		}
		b.eachNearbyUnit(&b.windows[0], 1, func(u *unit) bool {
			if u != b.unit && len(u.terms) > 0 && b.supportsTerm(i, u.ids[0]) && b.hasExchangedFacts(mine, theirs, u) {
				why = "the source says it of " + b.unit.terms[0].fold + ", not of " + b.terms[i].fold
			}
			return why == ""
		})
	}
	return why
}

// findDisplacedNumber returns a reason if the best sentence has another number and an adjacent
// one has the claim's number for another name.
func (b *wordAlignment) findDisplacedNumber(mine, theirs []factMention) (why string) {
	for _, x := range mine {
		competes := false
		for _, y := range theirs {
			if x.isSupportedBy(y) {
				competes = false
				break
			}
			competes = competes || x.isSameKind(y)
		}
		if !competes {
			continue
		}
		b.eachNearbyUnit(&b.windows[0], 1, func(u *unit) bool {
			if u == b.unit || len(u.terms) == 0 || !u.terms[0].name && !u.terms[0].head {
				return true
			}
			for i := range b.terms {
				if b.supportsTerm(i, u.ids[0]) {
					return true
				}
			}
			for _, y := range findFactMentions(&u.parsedSentence, u.start, b.alignUnit(u).sourceAtoms) {
				if x.isSupportedBy(y) && why == "" {
					why = "the source says " + y.text + " of " + u.terms[0].fold
				}
			}
			return why == ""
		})
	}
	return why
}

// hasExchangedFacts reports whether the best sentence has a figure or date of the claim, and u
// another one of its kind.
func (b *wordAlignment) hasExchangedFacts(mine, theirs []factMention, u *unit) bool {
	others := findFactMentions(&u.parsedSentence, u.start, b.alignUnit(u).sourceAtoms)
	for _, x := range mine {
		there, competes := false, false
		for _, y := range theirs {
			there = there || x.isSupportedBy(y)
		}
		for _, y := range others {
			if x.isSupportedBy(y) {
				there = false
				break
			}
			competes = competes || x.isSameKind(y)
		}
		if there && competes {
			return true
		}
	}
	return false
}

// rolePrepositions maps prepositions to the role of the name after them.
var rolePrepositions = map[string]string{"by": "by", "for": "for", "to": "to", "against": "against", "from": "from", "fur": "for", "gegen": "against", "von": "by", "durch": "by",
	"pour": "for", "contre": "against", "par": "by", "para": "for", "contra": "against", "por": "by"}

// roleBefore returns the role word before atom n, across names and articles, or "".
func (b *wordAlignment) roleBefore(atoms []atom, n int) string {
	for k := n - 1; k >= 0 && k >= n-4; k-- {
		if r := rolePrepositions[atoms[k].fold]; r != "" {
			if k > 0 && (atoms[k-1].fold == "according" || atoms[k-1].fold == "due") {
				return ""
			}
			return r
		}
		if !atoms[k].upper && !lexical.Stop(atoms[k].fold, b.lang) || atoms[k+1].comma {
			return ""
		}
	}
	return ""
}

// findRoleMismatch returns a reason if the source gives a name of the claim another role,
// such as "for" instead of "by".
func (b *wordAlignment) findRoleMismatch() string {
	for i, t := range b.terms {
		if !b.view.names[i] || len(b.termPlaces[i]) == 0 {
			continue
		}
		want := b.roleBefore(b.claimAtoms, b.termAtoms[i])
		bad, found, apart := "", false, true
		for _, n := range b.termPlaces[i] {
			r := b.roleBefore(b.sourceAtoms, n)
			switch {
			case r == want:
				found = true
			case r != "":
				bad = r
			case want != "from" && want != "against" && want != "" || want == "" && n > 0:
				found = found || want == "" || b.unit.passive == b.passive || b.clauseOf[n] == b.clauseOf[b.termPlaces[i][0]]
			}
			apart = apart && b.clauseHits[b.clauseOf[n]] < 2
		}
		switch {
		case found:
		case bad == "for" || bad == "against" || bad == "to" && (want == "by" || want == "from" || want == "" && b.unit.passive):
			return "the source says " + bad + " " + t.fold
		case (want == "from" || want == "against") && bad == "" && apart:
			return "no quote says " + want + " " + t.fold
		}
	}
	return ""
}
