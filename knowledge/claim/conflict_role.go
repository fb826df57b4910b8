package claim

import (
	"slices"
	"strings"
)

// Words that a role is known by. An office has one holder at a time, and what is the most
// or first of a kind is one.
var (
	officeWords = fieldSet(`capital ceo president chancellor king queen emperor pope mayor governor chairman chairwoman chairperson premier minister director head chief leader captain coach manager commander ambassador currency anthem hauptstadt prasident prasidentin kanzler kanzlerin konig konigin burgermeister burgermeisterin vorsitzender wahrung capitale presidente maire roi reine monnaie alcalde rey reina moneda`)
	mostWords   = fieldSet(`most least first only last erste einzige letzte plus premiere unique seul seule primer primera unico unica`)
	noMostWords = fieldSet(`west east forest interest request guest test rest priest harvest honest modest contest quest arrest protest northwest northeast southwest southeast nest chest vest breast best-known earnest est`)
	nowWords    = fieldSet(`is remains ist bleibt est reste es sigue`)
	thenWords   = fieldSet(`was became war wurde fut etait fue era`)
	officeLinks = fieldSet(`of in at for von der des de du del d city`) // behind an office, not as in "the king's daughter"
	pluralLinks = fieldSet(`and und et y or oder ou o`)
)

const (
	maxRole     = 14 // words
	maxRoleName = 6
)

// roleIn reads "the capital of Velmland is Arn" and "Arn is the oldest town in Velmland":
// who or what has a role that one has.
func roleIn(text string, line []lexeme) (s stated, ok bool) {
	if n := len(line); line[n-1].fold == "." {
		line = line[:n-1]
	}
	c := slices.IndexFunc(line, func(x lexeme) bool { return !x.upper && (nowWords[x.fold] || thenWords[x.fold]) })
	if c <= 0 || c+1 >= len(line) {
		return s, false
	}
	left, right := line[:c], line[c+1:]
	past := thenWords[line[c].fold]
	name, role := roleName(left), roleWords(right, past)
	if name == nil || role == nil {
		name, role = roleName(right), roleWords(left, past)
	}
	if name == nil || role == nil {
		return s, false
	}
	s = stated{attribute: relatedName, scope: line[c].fold, worth: worth{kind: nameWorth, text: text[name[0].start:name[len(name)-1].end]}}
	for _, x := range name {
		s.worth.words = append(s.worth.words, x.fold)
	}
	for _, x := range role {
		if x.kind != lexMark && !relationFill[x.fold] && !smallWord(x.fold) {
			s.subject = append(s.subject, x.fold)
		}
	}
	return s, len(s.subject) > 1
}

// roleName returns the name that a part of a sentence is, up to a comma; nil if it is more.
func roleName(part []lexeme) []lexeme {
	if i := slices.IndexFunc(part, func(x lexeme) bool { return x.fold == "," }); i >= 0 {
		part = part[:i]
	}
	if len(part) > 0 && articles[part[0].fold] {
		part = part[1:]
	}
	if len(part) == 0 || len(part) > maxRoleName || !part[0].upper || notNames[part[0].fold] {
		return nil
	}
	for i, x := range part {
		point := x.fold == "." && i > 0 && len(part[i-1].fold) == 1
		if officeWords[x.fold] || pluralLinks[x.fold] || !point && (x.kind != lexWord || !x.upper && !nameLinks[x.fold]) {
			return nil
		}
	}
	return part
}

// roleWords returns a part of a sentence that is a role which one has: definite, and of
// something named.
func roleWords(part []lexeme, past bool) []lexeme {
	if len(part) < 2 || len(part) > maxRole || !articles[part[0].fold] && !part[0].upper {
		return nil
	}
	named := part[0].upper && !articles[part[0].fold]
	for i, x := range part {
		if x.fold == "," || pluralLinks[x.fold] || foldAt(part, i, "one") {
			return nil
		}
		named = named || i > 0 && x.upper && !officeWords[x.fold]
	}
	if !named || !singular(part, past) {
		return nil
	}
	return part
}

// singular reports whether one thing has a role: an office now, or the most of a kind.
func singular(role []lexeme, past bool) bool {
	if slices.ContainsFunc(role[:min(4, len(role))], func(x lexeme) bool { return mostWords[x.fold] || superlative(x) }) {
		return true
	}
	for i, x := range role {
		if officeWords[x.fold] {
			return !past && !foldAt(role, i-1, "vice", "deputy", "assistant", "former") && (i+1 == len(role) || officeLinks[role[i+1].fold] || officeWords[role[i+1].fold])
		}
		if i > 3 {
			break
		}
	}
	return false
}

// superlative reports whether a word is one by its ending in English or German.
func superlative(x lexeme) bool {
	if x.kind != lexWord || x.upper || noMostWords[x.fold] || len(x.fold) < 5 {
		return false
	}
	return strings.HasSuffix(x.fold, "est") || strings.HasSuffix(x.fold, "ste") && len(x.fold) > 6
}

// checkRoles notes that two names have changed places: the claim says that A did to B
// what the source says that B did to A. It looks at claims with one word between two
// names that the best sentence has too, neither of them passive.
func (c *check) checkRoles() {
	u := &c.units[c.windows[0].unit]
	for i := 0; i+1 < len(c.terms); i++ {
		a, verb, b := c.roles(i)
		if verb < 0 {
			continue
		}
		x, y, z := c.placed(u, a), c.placed(u, verb), c.placed(u, b)
		if x < 0 || y < 0 || z < 0 {
			continue
		}
		if z < y && y < x && x-z <= 12 && c.passive == u.passive {
			c.turned, c.against = "in the source "+c.terms[b].fold+" and "+c.terms[a].fold+" have changed places", u
		}
	}
}

// roles returns the next name from i on, a word that is none, and the name behind that;
// verb is -1 if they do not stand so.
func (c *check) roles(i int) (a, verb, b int) {
	if !c.view.names[i] || i+2 >= len(c.terms) || c.view.names[i+1] {
		return 0, -1, 0
	}
	for k := i + 2; k < len(c.terms) && k <= i+3; k++ {
		if c.view.names[k] {
			return i, i + 1, k
		}
	}
	return 0, -1, 0
}

// placed returns where the only word of a sentence that bears a term out stands, or -1.
func (c *check) placed(u *unit, i int) int {
	at := -1
	for k, id := range u.ids {
		if c.resembles(i, id) {
			if at >= 0 {
				return -1
			}
			at = u.terms[k].nth
		}
	}
	return at
}
