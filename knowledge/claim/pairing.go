package claim

import "ponder/internal/textkit/lexical"

// A stating is a figure or date of a sentence and its atom index.
type stating struct {
	figure figure
	day    day
	dated  bool
	at     int
	text   string
}

func statingsOf(r *reading, base int, atoms []atom) (list []stating) {
	place := func(s span) int {
		for i := range atoms {
			if atoms[i].end > s.start-base {
				return i
			}
		}
		return -1
	}
	for _, f := range r.figures {
		list = append(list, stating{figure: f, at: place(f.span), text: f.text})
	}
	for _, d := range r.days {
		list = append(list, stating{day: d, dated: true, at: place(d.span), text: d.text})
	}
	return list
}

// alike reports whether x and y are of one kind, so that one could stand for the
// other.
func (x stating) alike(y stating) bool {
	if x.dated || y.dated {
		return x.dated && y.dated
	}
	return x.figure.unit == y.figure.unit && (x.figure.unit != "" || x.figure.noun == y.figure.noun || x.figure.noun == "" || y.figure.noun == "")
}

func (x stating) bears(y stating) bool {
	if x.dated {
		return y.dated && x.day.borne(y.day)
	}
	return !y.dated && x.figure.unit == y.figure.unit && x.figure.fits(y.figure) >= rounded
}

// territory returns the atoms of item k among items of one kind: from its clause to
// the next item's clause. It returns false if two items share a clause.
func territory(list []stating, k int, clause []int) (from, to int, ok bool) {
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

// paired returns a reason if the source gives a figure or date of the claim to another
// subject, and another figure to the claim's subject.
func (b *beside) paired() string {
	mine, theirs := statingsOf(&b.reading, 0, b.mine), statingsOf(&b.unit.reading, b.unit.start, b.theirs)
	ourClauses := clausesOf(b.mine)
	for k, x := range mine {
		own, at := kindred(mine, k)
		from, to, ok := territory(own, at, ourClauses)
		if !ok {
			from, to = 0, 0
		}
		for n, y := range theirs {
			if !x.bears(y) {
				continue
			}
			if t := b.stray(x, from, to, theirs, n); t != "" {
				return "the source says " + y.text + " of " + t
			}
		}
	}
	return ""
}

func kindred(list []stating, k int) (own []stating, at int) {
	for i, x := range list {
		if i == k {
			at = len(own)
		}
		if i == k || x.alike(list[k]) {
			own = append(own, x)
		}
	}
	return own, at
}

// stray returns the word of the claim that the source connects with another item of
// the kind instead of item n, or "".
func (b *beside) stray(x stating, from, to int, theirs []stating, n int) string {
	rivals, at := kindred(theirs, n)
	for i, r := range rivals {
		if i != at && x.bears(r) {
			return ""
		}
	}
	first, end, ok := territory(rivals, at, b.clause)
	if len(rivals) < 2 || !ok {
		return ""
	}
	for i := range b.terms {
		if b.ours[i] < from || b.ours[i] >= to || len(b.at[i]) == 0 {
			continue
		}
		outside := true
		for _, p := range b.at[i] {
			outside = outside && (p < first || p >= end)
		}
		if !outside || !b.view.names[i] && b.leads(i) {
			continue
		}
		if k := b.extra(first, end, i, from, to); k >= 0 {
			return b.unit.terms[k].fold
		}
	}
	return ""
}

// leads reports whether term i is the first content word of the sentence, which may be
// the subject of all clauses.
func (b *beside) leads(i int) bool {
	return len(b.unit.terms) > 0 && b.at[i][0] == b.unit.terms[0].nth
}

// extra returns a term of the sentence part in place of term i that the claim part
// lacks, or -1. Both terms must be names, or neither. If the part has another name of
// the claim, both names must follow the same word.
func (b *beside) extra(first, end, i, from, to int) int {
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
	n, at := b.unit.terms[found].nth, b.at[i][0]
	if n > 0 && at > 0 && b.theirs[n-1].fold == b.theirs[at-1].fold && lexical.Stop(b.theirs[n-1].fold, b.lang) {
		return found
	}
	return -1
}

// claimHas reports whether the claim's atoms from..to have term k of the sentence.
func (b *beside) claimHas(k, from, to int) bool {
	for i := range b.terms {
		if b.ours[i] >= from && b.ours[i] < to && b.resembles(i, b.unit.ids[k]) {
			return true
		}
	}
	return false
}

// neighbours returns a reason if an adjacent sentence has the claim's name with its
// own number.
func (b *beside) neighbours() (why string) {
	mine, theirs := statingsOf(&b.reading, 0, b.mine), statingsOf(&b.unit.reading, b.unit.start, b.theirs)
	if why = b.displaced(mine, theirs); why != "" || len(b.unit.terms) == 0 || b.claimHas(0, 0, len(b.mine)) || !b.unit.terms[0].name && !b.unit.terms[0].head {
		return why
	}
	for i := range b.terms {
		if !b.view.names[i] && !b.terms[i].head || len(b.at[i]) > 0 {
			continue
		}
		b.around(&b.windows[0], 1, func(u *unit) bool {
			if u != b.unit && len(u.terms) > 0 && b.resembles(i, u.ids[0]) && b.exchanged(mine, theirs, u) {
				why = "the source says it of " + b.unit.terms[0].fold + ", not of " + b.terms[i].fold
			}
			return why == ""
		})
	}
	return why
}

// displaced returns a reason if the best sentence has another number and an adjacent
// one has the claim's number for another name.
func (b *beside) displaced(mine, theirs []stating) (why string) {
	for _, x := range mine {
		rival := false
		for _, y := range theirs {
			if x.bears(y) {
				rival = false
				break
			}
			rival = rival || x.alike(y)
		}
		if !rival {
			continue
		}
		b.around(&b.windows[0], 1, func(u *unit) bool {
			if u == b.unit || len(u.terms) == 0 || !u.terms[0].name && !u.terms[0].head {
				return true
			}
			for i := range b.terms {
				if b.resembles(i, u.ids[0]) {
					return true
				}
			}
			for _, y := range statingsOf(&u.reading, u.start, b.lay(u).theirs) {
				if x.bears(y) && why == "" {
					why = "the source says " + y.text + " of " + u.terms[0].fold
				}
			}
			return why == ""
		})
	}
	return why
}

// exchanged reports whether the best sentence has a figure or date of the claim, and u
// another one of its kind.
func (b *beside) exchanged(mine, theirs []stating, u *unit) bool {
	others := statingsOf(&u.reading, u.start, b.lay(u).theirs)
	for _, x := range mine {
		there, rival := false, false
		for _, y := range theirs {
			there = there || x.bears(y)
		}
		for _, y := range others {
			if x.bears(y) {
				there = false
				break
			}
			rival = rival || x.alike(y)
		}
		if there && rival {
			return true
		}
	}
	return false
}

// partWords maps prepositions to the role of the name after them.
var partWords = map[string]string{"by": "by", "for": "for", "to": "to", "against": "against", "from": "from", "fur": "for", "gegen": "against", "von": "by", "durch": "by",
	"pour": "for", "contre": "against", "par": "by", "para": "for", "contra": "against", "por": "by"}

// roleOf returns the role word before atom n, across names and articles, or "".
func (b *beside) roleOf(atoms []atom, n int) string {
	for k := n - 1; k >= 0 && k >= n-4; k-- {
		if r := partWords[atoms[k].fold]; r != "" {
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

// placedFor returns a reason if the source gives a name of the claim another role,
// such as "for" instead of "by".
func (b *beside) placedFor() string {
	for i, t := range b.terms {
		if !b.view.names[i] || len(b.at[i]) == 0 {
			continue
		}
		want := b.roleOf(b.mine, b.ours[i])
		bad, found, apart := "", false, true
		for _, n := range b.at[i] {
			r := b.roleOf(b.theirs, n)
			switch {
			case r == want:
				found = true
			case r != "":
				bad = r
			case want != "from" && want != "against" && want != "" || want == "" && n > 0:
				found = found || want == "" || b.unit.passive == b.passive || b.clause[n] == b.clause[b.at[i][0]]
			}
			apart = apart && b.hits[b.clause[n]] < 2
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
