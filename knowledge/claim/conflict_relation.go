package claim

import (
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/textkit/lexical"
)

const (
	minRelation  = 4 // words and marks
	maxRelation  = 30
	maxRelations = 2000
)

var (
	relatedNumber = &attribute{name: "number", kind: numberValue}
	relatedDate   = &attribute{name: "date", kind: dateValue}
	relatedName   = &attribute{name: "name", kind: nameValue}
)

// findRelatedConflicts returns pairs of sentences with equal words and one different value: a
// number, the date of a unique event, or a unique role's holder. The sentences must be
// whole and definite; one more word may change the subject. Known conflicts are
// skipped.
func findRelatedConflicts(quotes []Quote, lines [][][]lexeme, wanted func([]lexeme) bool, known []ponder.Conflict) (list []ponder.Conflict) {
	var found []statement
	for i, q := range quotes {
		var of []statement
		for _, line := range lines[i] {
			if len(found)+len(of) >= maxRelations {
				break
			}
			if s, ok := parseRelation(q.Text, line); ok && wanted(line) {
				s.quote = i
				of = append(of, s)
			}
		}
		setQualifiers(of, lines[i], q)
		found = append(found, of...)
	}
	for _, group := range groupBySubject(found) {
		for _, part := range splitByContext(quotes, group) {
			list = append(list, findSubjectConflicts(quotes, part)...)
		}
	}
	return slices.DeleteFunc(list, func(c ponder.Conflict) bool { return hasKnownPassage(c, known) })
}

func hasKnownPassage(c ponder.Conflict, others []ponder.Conflict) bool {
	seen := make(map[ponder.Passage]bool)
	for _, o := range others {
		for _, s := range o.Sides {
			for _, p := range s.Quotes {
				seen[p] = true
			}
		}
	}
	return slices.ContainsFunc(c.Sides, func(s ponder.Side) bool {
		return slices.ContainsFunc(s.Quotes, func(p ponder.Passage) bool { return seen[p] })
	})
}

// splitByContext divides statements of one subject by contexts without common words.
func splitByContext(quotes []Quote, list []statement) (parts [][]statement) {
	var topics []map[string]bool
	for _, s := range list {
		own := make(map[string]bool)
		for _, line := range scanLexemes(quotes[s.quote].Context, 60) {
			for _, x := range line {
				if x.kind == lexWord && !isSmallWord(x.fold) {
					own[x.fold] = true
				}
			}
		}
		i := slices.IndexFunc(topics, func(t map[string]bool) bool { return len(t) == 0 || len(own) == 0 || hasCommonKey(t, own) })
		if i < 0 {
			i = len(parts)
			parts, topics = append(parts, nil), append(topics, map[string]bool{})
		}
		parts[i] = append(parts[i], s)
		for w := range own {
			topics[i][w] = true
		}
	}
	return parts
}

func hasCommonKey(a, b map[string]bool) bool {
	for w := range a {
		if b[w] {
			return true
		}
	}
	return false
}

// pronouns and relativeTimes disqualify a sentence, relationFill words are ignored,
// and numberedWords take a number as a name.
var (
	pronouns      = fieldSet(`it he she they this these those his her its their we our er sie es ihr sein diese dieser dieses il elle ils elles ce cette ces son sa leur este esta estos`)
	relativeTimes = fieldSet(`last next today yesterday tomorrow now currently previous previously previous recent recently then former formerly until ago later earlier gestern heute morgen derzeit bisher letzte letzten letztes hier aujourd'hui demain dernier derniere actuellement hoy ayer ahora pasado ultimo`)
	relationFill  = fieldSet(`the a an der die das den dem ein eine einen le la les l un une el los las una only just exactly also nur genau auch seulement exactement solo solamente monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo`)
	definite      = fieldSet(`the der die das den dem le la les l el los las`)
	numberedWords = fieldSet(`type phase stage grade group level class chapter page figure section part volume number no version step day week year season episode round article line table room route highway typ stufe klasse kapitel seite teil band nummer chapitre partie numero capitulo pagina parte`)
)

func parseRelation(text string, line []lexeme) (s statement, ok bool) {
	if len(line) < minRelation || len(line) > maxRelation || isTabulated(line) {
		return s, false
	}
	for i, x := range line {
		if pronouns[x.fold] || relativeTimes[x.fold] || hasFoldAt(line, i, "?", ";", ":", "(", "\"", "“", "„") {
			return s, false
		}
	}
	if s, ok = parseRole(text, line); !ok {
		s, ok = parseAmount(text, line)
	}
	s.start, s.end = line[0].start, line[len(line)-1].end
	return s, ok
}

type quantity struct {
	from, to int
	date     bool
	value    statementValue
	unit     string
}

func parseQuantities(text string, line []lexeme) (list []quantity) {
	for i := 0; i < len(line); {
		m, number := parseNumberAt(text, line, i)
		v, n := parseDateAt(text, line, i)
		switch {
		case n > 0 && (!number || m.dimension == ""):
			v.slack = dateSlack(line, i, v)
			list = append(list, quantity{i, i + n, true, v, ""})
			i += n
		case number:
			list = append(list, quantity{m.from, m.to, false, m.value, m.dimension})
			i = m.to
		default:
			i++
		}
	}
	return list
}

func parseAmount(text string, line []lexeme) (s statement, ok bool) {
	all := parseQuantities(text, line)
	numbers := slices.DeleteFunc(slices.Clone(all), func(q quantity) bool { return q.date })
	switch {
	case len(numbers) == 1 && isCount(line, numbers[0]):
		q := numbers[0]
		s = statement{attribute: relatedNumber, dimension: q.unit, time: validityYear(text, line, q.from, q.to), value: q.value}
		s.value.slack = max(s.value.slack, halfDigit(line, q))
		s.setSubjectAndScope(line, q)
		return s, len(s.subject) > 1 && isDefinite(line, q)
	case len(numbers) == 0 && len(all) == 1 && isUniqueEvent(line):
		q := all[0]
		s = statement{attribute: relatedDate, value: q.value}
		s.setSubjectAndScope(line, q)
		named := hasNameOutside(line, q)
		if !named && q.value.date[1] == 0 {
			return s, false
		}
		if q.value.date[1] > 0 { // may recur each year
			s.scope += " " + strconv.Itoa(q.value.date[0])
		}
		if !named { // there may be several
			s.scope += " " + strconv.Itoa(q.value.date[1])
		}
		return s, len(s.subject) > 1 && isDefinite(line, q)
	}
	return s, false
}

// halfDigit returns half a unit in the last digit of a number with a unit, which may
// be rounded.
func halfDigit(line []lexeme, q quantity) float64 {
	for _, x := range line[q.from:q.to] {
		if x.kind == lexNumber && x.value > 0 && q.unit != "" {
			return 0.5001 * min(x.unit, 1) * q.value.number / x.value
		}
	}
	return 0
}

// isCount reports whether a number has a unit or counts things, and does not number
// them.
func isCount(line []lexeme, q quantity) bool {
	if q.from > 0 {
		if before := line[q.from-1]; numberedWords[before.fold] || hasFoldAt(line, q.to, "st", "nd", "rd", "th") {
			return false
		}
		k := q.from - 1
		place := []string{"in", "at", "near", "bei", "en", "a"}
		for isUpperAt(line, k) && !hasFoldAt(line, k, place...) {
			k--
		}
		if k < q.from-1 && !hasFoldAt(line, k, place...) { // Apollo 11
			return false
		}
	}
	if q.unit != "" {
		return true
	}
	return q.to < len(line) && line[q.to].kind == lexWord && !line[q.to].upper && !isSmallWord(line[q.to].fold)
}

// setSubjectAndScope sets the subject to the content words of a sentence, and the scope to the
// others, without the value.
func (s *statement) setSubjectAndScope(line []lexeme, q quantity) {
	var small []string
	from := q.from
	for i := max(0, from-3); i < from; i++ {
		if i+max(matchAnyPhrase(line, i, lowerBounds), matchAnyPhrase(line, i, upperBounds)) == from {
			from = i
		}
	}
	for i, x := range line {
		switch {
		case i >= from && i < q.to || relationFill[x.fold] || x.kind == lexMark || i < q.from && i >= q.from-2 && vagueWords[x.fold]:
		case x.kind == lexNumber || isSmallWord(x.fold):
			small = append(small, x.fold)
		default:
			s.subject = append(s.subject, x.fold)
		}
	}
	slices.Sort(small)
	s.scope = strings.Join(small, " ")
}

func isSmallWord(fold string) bool { return lexical.Stop(fold, "en") || len(fold) < 2 }

func isDefinite(line []lexeme, q quantity) bool {
	return hasNameOutside(line, q) || slices.ContainsFunc(line, func(x lexeme) bool { return definite[x.fold] })
}

// hasNameOutside reports whether a sentence has a name after its first word, which is always
// capitalized.
func hasNameOutside(line []lexeme, q quantity) bool {
	for i := 1; i < len(line); i++ {
		if isUpperAt(line, i) && (i < q.from || i >= q.to) && !relationFill[line[i].fold] {
			return true
		}
	}
	return false
}

func isUniqueEvent(line []lexeme) bool {
	return slices.ContainsFunc(line, func(x lexeme) bool { return onceWords[x.fold] })
}

var onceWords = fieldSet(`began begun started commenced ended finished concluded expired signed ratified adopted enacted abolished repealed dissolved proclaimed declared launched inaugurated sank sunk collapsed crashed discovered invented crowned appointed resigned assassinated executed demolished destroyed completed unveiled patented capitulated surrendered
begann beginnt endete unterzeichnet ratifiziert verabschiedet abgeschafft sank einsturzte entdeckt erfunden gekront ernannt zerstort signe signee ratifie ratifiee commence commenca termine abolie aboli decouvert couronne detruit firmado firmada firmo comenzo empezo termino ratificado abolida descubierto`)

// Words of roles. An office has one holder at a time; a superlative or first of a kind
// is unique.
var (
	officeWords      = fieldSet(`capital ceo president chancellor king queen emperor pope mayor governor chairman chairwoman chairperson premier minister director head chief leader captain coach manager commander ambassador currency anthem hauptstadt prasident prasidentin kanzler kanzlerin konig konigin burgermeister burgermeisterin vorsitzender wahrung capitale presidente maire roi reine monnaie alcalde rey reina moneda`)
	superlativeWords = fieldSet(`most least first only last erste einzige letzte plus premiere unique seul seule primer primera unico unica`)
	notSuperlatives  = fieldSet(`west east forest interest request guest test rest priest harvest honest modest contest quest arrest protest northwest northeast southwest southeast nest chest vest breast best-known earnest est`)
	presentCopulas   = fieldSet(`is remains ist bleibt est reste es sigue`)
	pastCopulas      = fieldSet(`was became war wurde fut etait fue era`)
	officeLinks      = fieldSet(`of in at for von der des de du del d city`) // after an office, unlike "the king's daughter"
	pluralLinks      = fieldSet(`and und et y or oder ou o`)
)

const (
	maxRole     = 14 // words
	maxRoleName = 6
)

// parseRole reads the holder of a unique role: "the capital of Velmland is Arn", "Arn is
// the oldest town in Velmland".
func parseRole(text string, line []lexeme) (s statement, ok bool) {
	if n := len(line); line[n-1].fold == "." {
		line = line[:n-1]
	}
	c := slices.IndexFunc(line, func(x lexeme) bool { return !x.upper && (presentCopulas[x.fold] || pastCopulas[x.fold]) })
	if c <= 0 || c+1 >= len(line) {
		return s, false
	}
	left, right := line[:c], line[c+1:]
	past := pastCopulas[line[c].fold]
	name, role := parseRoleName(left), parseRoleWords(right, past)
	if name == nil || role == nil {
		name, role = parseRoleName(right), parseRoleWords(left, past)
	}
	if name == nil || role == nil {
		return s, false
	}
	s = statement{attribute: relatedName, scope: line[c].fold, value: statementValue{kind: nameValue, text: text[name[0].start:name[len(name)-1].end]}}
	for _, x := range name {
		s.value.words = append(s.value.words, x.fold)
	}
	for _, x := range role {
		if x.kind != lexMark && !relationFill[x.fold] && !isSmallWord(x.fold) {
			s.subject = append(s.subject, x.fold)
		}
	}
	return s, len(s.subject) > 1
}

func parseRoleName(part []lexeme) []lexeme {
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

// parseRoleWords returns a part of a sentence if it is a unique role: definite, and of
// something named.
func parseRoleWords(part []lexeme, past bool) []lexeme {
	if len(part) < 2 || len(part) > maxRole || !articles[part[0].fold] && !part[0].upper {
		return nil
	}
	named := part[0].upper && !articles[part[0].fold]
	for i, x := range part {
		if x.fold == "," || pluralLinks[x.fold] || hasFoldAt(part, i, "one") {
			return nil
		}
		named = named || i > 0 && x.upper && !officeWords[x.fold]
	}
	if !named || !hasOneHolder(part, past) {
		return nil
	}
	return part
}

// hasOneHolder reports whether a role has one holder: a present office, or a superlative.
func hasOneHolder(role []lexeme, past bool) bool {
	if slices.ContainsFunc(role[:min(4, len(role))], func(x lexeme) bool { return superlativeWords[x.fold] || isSuperlative(x) }) {
		return true
	}
	for i, x := range role {
		if officeWords[x.fold] {
			return !past && !hasFoldAt(role, i-1, "vice", "deputy", "assistant", "former") && (i+1 == len(role) || officeLinks[role[i+1].fold] || officeWords[role[i+1].fold])
		}
		if i > 3 {
			break
		}
	}
	return false
}

func isSuperlative(x lexeme) bool {
	if x.kind != lexWord || x.upper || notSuperlatives[x.fold] || len(x.fold) < 5 {
		return false
	}
	return strings.HasSuffix(x.fold, "est") || strings.HasSuffix(x.fold, "ste") && len(x.fold) > 6
}

// checkRoles notes exchanged names: the claim says that A did to B, the source that B
// did to A. It covers claims with one active verb between two names of the best
// sentence.
func (c *check) checkRoles() {
	u := &c.units[c.windows[0].unit]
	for i := 0; i+1 < len(c.terms); i++ {
		a, verb, b := c.roleAt(i)
		if verb < 0 {
			continue
		}
		x, y, z := c.termPosition(u, a), c.termPosition(u, verb), c.termPosition(u, b)
		if x < 0 || y < 0 || z < 0 {
			continue
		}
		if z < y && y < x && x-z <= 12 && c.passive == u.passive {
			c.negationReason, c.counterUnit = "in the source "+c.terms[b].fold+" and "+c.terms[a].fold+" have changed places", u
		}
	}
}

func (c *check) roleAt(i int) (a, verb, b int) {
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

// termPosition returns the position of the only word of u that supports term i, or -1.
func (c *check) termPosition(u *unit, i int) int {
	at := -1
	for k, id := range u.ids {
		if c.supportsTerm(i, id) {
			if at >= 0 {
				return -1
			}
			at = u.terms[k].nth
		}
	}
	return at
}
