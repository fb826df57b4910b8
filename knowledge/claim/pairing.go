package claim

import "ponder/internal/textkit/lexical"

// An stating is a figure or date of a sentence, with its place among the words.
type stating struct {
	figure figure
	day    day
	dated  bool
	at     int
	text   string
}

// statingsOf returns the figures and dates of what was read, in their order among atoms.
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

// alike reports whether two items are of one kind, so that one may be taken for the other.
func (x stating) alike(y stating) bool {
	if x.dated || y.dated {
		return x.dated && y.dated
	}
	return x.figure.unit == y.figure.unit && (x.figure.unit != "" || x.figure.noun == y.figure.noun || x.figure.noun == "" || y.figure.noun == "")
}

// bears reports whether an stating of a source bears x out.
func (x stating) bears(y stating) bool {
	if x.dated {
		return y.dated && x.day.borne(y.day)
	}
	return !y.dated && x.figure.unit == y.figure.unit && x.figure.fits(y.figure) >= rounded
}

// territory returns the words that belong to item k of a list of one kind: from its
// clause to that of the next. ok is false if two are in one clause.
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

// paired says that the source has a figure or date of the claim of something else: what
// the claim says of it stands with another one, and something of its kind in its place.
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

// kindred returns the items of the kind of item k, and which of them it is.
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

// stray returns what the source says item n of where the claim has a word that the
// source has with another stating of the kind, or "".
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

// leads reports whether a term is the first word that tells something in the sentence:
// it may be the subject of all its clauses.
func (b *beside) leads(i int) bool {
	return len(b.unit.terms) > 0 && b.at[i][0] == b.unit.terms[0].nth
}

// extra returns a term of a part of the sentence that stands for term i, a name or none
// as that is, and that a part of the claim has not, or -1. If it has another name of the
// claim, the two names must stand behind the same word.
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

// claimHas reports whether the words of the claim from one place to another have term k
// of the sentence.
func (b *beside) claimHas(k, from, to int) bool {
	for i := range b.terms {
		if b.ours[i] >= from && b.ours[i] < to && b.resembles(i, b.unit.ids[k]) {
			return true
		}
	}
	return false
}

// neighbours says that the number of the claim is of another name, as the sentence beside
// has the name of the claim with a number of its own.
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

// displaced says that the best sentence has another number in the place of one of the
// claim, and the sentence beside has that, of another name.
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

// exchanged reports whether a figure or date of the claim is in the best sentence, and
// another of its kind in the sentence u.
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

// partWords lead in who did something, or for, against or from whom.
var partWords = map[string]string{"by": "by", "for": "for", "to": "to", "against": "against", "from": "from", "fur": "for", "gegen": "against", "von": "by", "durch": "by",
	"pour": "for", "contre": "against", "par": "by", "para": "for", "contra": "against", "por": "by"}

// roleOf returns the role word before an atom and the names and articles there, or "".
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

// placedFor says that the source has a name of the claim in another role: for somebody,
// not by.
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
