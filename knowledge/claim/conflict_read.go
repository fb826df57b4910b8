package claim

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A statement is a statement of a quote about an attribute.
type statement struct {
	quote      int
	start, end int      // of the sentence, bytes of the quote
	subject    []string // words of the nearest name
	attribute  *attribute
	dimension  string
	time       string // the year of validity, if the sentence gives one
	scope      string // the part of the thing, if given
	value      statementValue
	qualifiers []string // that distinguish namesakes
	rank       int      // certainty that the statement answers the question
	copied     bool     // framed, and long enough to be an altered copy
	framed     bool     // another quote has the same sentence with another value
}

// An attributeCue is a phrase beside the value of an attribute.
type attributeCue struct {
	attribute  *attribute
	phrase     []string
	afterValue bool        // after the value
	listedTerm *listedTerm // the cue itself is the value
}

var cuesByWord = sync.OnceValue(func() map[string][]attributeCue {
	by := make(map[string][]attributeCue)
	for _, a := range attributes() {
		a.addCues(by)
	}
	return by
})

func (a *attribute) addCues(by map[string][]attributeCue) {
	for _, p := range a.phrasesBefore {
		by[p[0]] = append(by[p[0]], attributeCue{attribute: a, phrase: p})
	}
	for _, p := range a.phrasesAfter {
		by[p[0]] = append(by[p[0]], attributeCue{attribute: a, phrase: p, afterValue: true})
	}
	for i := range a.terms {
		for _, p := range a.terms[i].forms {
			by[p[0]] = append(by[p[0]], attributeCue{attribute: a, phrase: p, listedTerm: &a.terms[i]})
		}
	}
}

type statementReader struct {
	text       string
	quote      int
	attribute  *attribute // nil reads all
	subject    []string   // subject of the quote, from its beginning or context
	statements []statement
	ownCues    map[string][]attributeCue // cues of an attribute outside the table
}

func readStatements(q Quote, i int, only *attribute, sentences [][]lexeme) []statement {
	r := &statementReader{text: q.Text, quote: i, attribute: only, subject: quoteSubject(q, sentences)}
	if only != nil && !slices.Contains(attributes(), only) {
		r.ownCues = make(map[string][]attributeCue)
		only.addCues(r.ownCues)
	}
	for _, line := range sentences {
		r.readSentence(line)
	}
	return r.statements
}

func (r *statementReader) readSentence(line []lexeme) {
	if isTabulated(line) {
		r.readLabels(line)
		return
	}
	subject := parseSubject(line)
	table := cuesByWord()
	r.readLifespan(line, subject)
	for i := range line {
		if line[i].kind != lexWord {
			continue
		}
		for _, c := range r.cuesFor(table, line[i].fold) {
			if r.attribute != nil && c.attribute != r.attribute || c.listedTerm != nil || matchPhrase(line, i, c.phrase) == 0 {
				continue
			}
			if c.afterValue {
				r.readBeforeCue(line, i, c.attribute, subject)
			} else {
				r.readAfterCue(line, i+len(c.phrase), i, c.attribute, subject)
			}
		}
	}
	r.readMeasurement(line, subject)
	r.readTerms(line, subject)
}

var measureCues = parsePhrases(`measured at, measured, measures, mesure, mesure a, misst, gemessen, mide`)

// readMeasurement reads "was measured at 10,994 metres" as the asked depth, if the sentence
// has a word of it.
func (r *statementReader) readMeasurement(line []lexeme, subject []string) {
	a := r.attribute
	if a == nil || a.dimension != "m" || !slices.ContainsFunc(line, func(x lexeme) bool { return a.askWords[x.fold] }) {
		return
	}
	for i := range line {
		k := i + matchAnyPhrase(line, i, measureCues)
		if k == i || k >= len(line) {
			continue
		}
		if m, ok := parseNumberAt(r.text, line, k); ok && fitsDimension(m, a) {
			r.addStatement(line, subject, a, m.dimension, validityYear(r.text, line, m.from, m.to), m.value)
			return
		}
	}
}

func (r *statementReader) cuesFor(table map[string][]attributeCue, word string) []attributeCue {
	if own := r.ownCues[word]; len(own) > 0 {
		return own
	}
	return table[word]
}

func (r *statementReader) readLabels(line []lexeme) {
	for i := range line {
		for _, a := range attributes() {
			switch {
			case r.attribute != nil && r.attribute != a || i+1 >= len(line):
			case a.kind == termValue && a.askWords[line[i].fold]:
				r.readLabel(line, i+1, a, nil)
			case a.kind == dateValue && matchAnyPhrase(line, i, a.phrasesBefore) > 0:
				k := i + matchAnyPhrase(line, i, a.phrasesBefore)
				if k < len(line) && line[k].fold == ":" {
					k++
				}
				if k >= len(line) {
					continue
				}
				if v, n := parseDateAt(r.text, line, k); n > 0 && v.date[0] > 0 {
					r.addStatement(line, nil, a, "", "", v)
				}
			}
		}
	}
}

// isTabulated reports whether a sentence is a table or menu: many numbers, or almost no
// lower-case words. Neighbouring words are unrelated there.
func isTabulated(line []lexeme) bool {
	numbers, upper, word := 0, 0, 0
	for _, x := range line {
		switch {
		case x.kind == lexNumber:
			numbers++
		case x.kind == lexWord && x.upper:
			upper++
			word++
		case x.kind == lexWord:
			word++
		}
	}
	return numbers > 12 || numbers > 4 && numbers > word || len(line) > 16 && upper*10 > word*8
}

func (r *statementReader) addStatement(line []lexeme, subject []string, a *attribute, dimension, time string, v statementValue) {
	if len(subject) == 0 {
		subject = r.subject
	}
	scope := ""
	if a.parts {
		scope = findPlace(line)
	}
	if a.isPhysicalSize() && hasSurveyWord(line) {
		time = "" // date of the survey
	}
	r.statements = append(r.statements, statement{
		quote: r.quote, start: line[0].start, end: line[len(line)-1].end, subject: subject, attribute: a, dimension: dimension, time: time, scope: scope, value: v,
	})
}

// isPhysicalSize reports whether the attribute is a physical dimension, which hardly changes.
func (a *attribute) isPhysicalSize() bool { return a.dimension == "m" || a.dimension == "m2" }

func hasSurveyWord(line []lexeme) bool {
	return slices.ContainsFunc(line, func(x lexeme) bool { return surveyWords[x.fold] })
}

var surveyWords = fieldSet(`survey surveys surveyed measured measurement measurements expedition sonar study estimated gemessen vermessung messung mesure mesuree releve expedition medido medicion estudio`)

func findPlace(line []lexeme) string {
	for i := range line {
		if !hasFoldAt(line, i, "in", "across", "outside", "within", "en", "dans") {
			continue
		}
		k := skipFolds(line, i+1, 1, "the", "der", "den", "la", "el", "l")
		from := k
		for isUpperAt(line, k) && monthNumber(line[k].fold) == 0 {
			k++
		}
		if k > from {
			return joinFolds(line[i:k])
		}
	}
	return ""
}

func joinFolds(line []lexeme) string {
	var list []string
	for _, x := range line {
		list = append(list, x.fold)
	}
	return strings.Join(list, " ")
}

func (r *statementReader) readAfterCue(line []lexeme, k, at int, a *attribute, subject []string) {
	if name, n := parseOwnerName(line, k); n > 0 && a.kind == numberValue {
		subject, k = name, k+n
	}
	switch a.kind {
	case numberValue:
		r.readNumber(line, k, a, subject)
	case dateValue:
		r.readDate(line, k, at, a, subject)
	case nameValue, placeValue:
		if k-at == 1 && a.kind == nameValue && (k >= len(line) || line[k].fold != ":" && line[k].fold != "=" && !copulas[line[k].fold]) {
			return // a heading, or part of a name
		}
		if k < len(line) && copulas[line[k].fold] {
			k++
		}
		if v, ok := parseNameAt(r.text, line, k, a.kind); ok {
			r.addStatement(line, subject, a, "", "", v)
		}
	}
}

// numberTurns are words after which a number belongs to another attribute.
var numberTurns = fieldSet(`density growth rate grew increased decreased rose fell declined rural urban female male loss change per aged under ranking rank largest million-plus dichte wachstum densite croissance densidad crecimiento gestiegen gesunken households families up down by`)

func (r *statementReader) readNumber(line []lexeme, k int, a *attribute, subject []string) {
	for end := min(len(line), k+12); k < end; k++ {
		if line[k].fold == ";" || numberTurns[line[k].fold] {
			return
		}
		if _, n := parseDateAt(r.text, line, k); n > 0 && !isAmount(r.text, line, k, a) {
			k += n - 1
			continue
		}
		m, ok := parseNumberAt(r.text, line, k)
		if !ok {
			continue
		}
		if fitsDimension(m, a) {
			r.addStatement(line, subject, a, m.dimension, validityYear(r.text, line, m.from, m.to), m.value)
		}
		return
	}
}

// isAmount reports whether the number at k, perhaps a year, has a unit of the
// attribute.
func isAmount(text string, line []lexeme, k int, a *attribute) bool {
	m, ok := parseNumberAt(text, line, k)
	return ok && m.dimension != "" && fitsDimension(m, a)
}

func fitsDimension(m numberMention, a *attribute) bool {
	if a.dimension == "money" {
		return slices.Contains([]string{"USD", "EUR", "GBP", "JPY"}, m.dimension)
	}
	return m.dimension == a.dimension
}

func (r *statementReader) readBeforeCue(line []lexeme, i int, a *attribute, subject []string) {
	if a.kind != numberValue {
		return
	}
	for k := i - 1; k >= max(0, i-7); k-- {
		m, ok := parseNumberAt(r.text, line, k)
		if !ok {
			continue
		}
		if m.to >= i-1 && m.to <= i && fitsDimension(m, a) && !isYear(r.text, line, k, a) && !isDerived(line, m.from) {
			r.addStatement(line, subject, a, m.dimension, validityYear(r.text, line, m.from, m.to), m.value)
		}
		return
	}
}

// isDerived reports whether a word shortly before a number makes it a ratio or a count
// of employees.
func isDerived(line []lexeme, from int) bool {
	return slices.ContainsFunc(line[max(0, from-6):from], func(x lexeme) bool { return ratioWords[x.fold] })
}

var ratioWords = fieldSet(`density growth rate median average mean dichte durchschnitt densite moyenne densidad media tasa employ employs employed employing beschaftigt emploie emplea`)

func isYear(text string, line []lexeme, k int, a *attribute) bool {
	return a.dimension == "" && lexemeYear(text, line[k]) > 0 && k > 0 && (line[k-1].fold == "in" || line[k-1].fold == "en" || line[k-1].fold == "of")
}

var fetchedWords = fieldSet(`retrieved archived accessed edited modified updated abgerufen consulte consultado`)

func (r *statementReader) readDate(line []lexeme, k, at int, a *attribute, subject []string) {
	v, ok := r.dateAfterCue(line, k, a)
	if !ok {
		v, ok = r.dateBeforeCue(line, at)
	}
	if ok {
		r.addStatement(line, subject, a, "", "", v)
	}
}

func (r *statementReader) dateAfterCue(line []lexeme, k int, a *attribute) (v statementValue, ok bool) {
	for j, end := k, min(len(line), k+14); j < end; j++ {
		if line[j].fold == ";" || fetchedWords[line[j].fold] || j > k && (isDateCue(line, j, a) || isParticiple(line[j])) {
			break
		}
		if v, n := r.dateAt(line, j); n > 0 {
			return v, true
		}
	}
	return v, false
}

// dateBeforeCue reads a date directly before a cue, as in German, or at the start of the
// sentence.
func (r *statementReader) dateBeforeCue(line []lexeme, at int) (v statementValue, ok bool) {
	for j := max(0, at-7); j < at; j++ {
		if v, n := r.dateAt(line, j); n > 1 && j+n <= at && at-j-n < 2 {
			return v, true
		}
	}
	for j := 1; j < min(at, 3); j++ {
		if v, n := r.dateAt(line, j); n > 0 && j+n < at && at-j-n < 12 {
			return v, true
		}
	}
	return v, false
}

func (r *statementReader) dateAt(line []lexeme, j int) (v statementValue, n int) {
	if v, n = parseDateAt(r.text, line, j); n == 0 || v.date[0] == 0 {
		return v, 0
	}
	v.slack = dateSlack(line, j, v)
	return v, n
}

func isParticiple(x lexeme) bool {
	return x.kind == lexWord && !x.upper && len(x.fold) > 4 && strings.HasSuffix(x.fold, "ed")
}

func isDateCue(line []lexeme, j int, a *attribute) bool {
	return slices.ContainsFunc(cuesByWord()[line[j].fold], func(c attributeCue) bool {
		return c.attribute.kind == dateValue && c.attribute != a && c.listedTerm == nil && matchPhrase(line, j, c.phrase) > 0
	})
}

func dateSlack(line []lexeme, j int, v statementValue) float64 {
	if j > 0 && vagueWords[line[j-1].fold] && v.date[1] == 0 {
		return 5
	}
	return 0
}

func (r *statementReader) readLifespan(line []lexeme, subject []string) {
	for i := 1; i+3 < len(line) && i < 30; i++ {
		if !hasFoldAt(line, i, "(") || !line[i-1].upper {
			continue
		}
		born, died, ok := r.parseLifespan(line, i+1)
		if !ok {
			continue
		}
		for _, a := range attributes() {
			switch {
			case r.attribute != nil && a != r.attribute:
			case a.name == "born":
				r.addStatement(line, subject, a, "", "", born)
			case a.name == "died":
				r.addStatement(line, subject, a, "", "", died)
			}
		}
	}
}

// parseLifespan reads two dates in "born – died)". At least one must be a full day, and 1 to
// 115 years lie between them.
func (r *statementReader) parseLifespan(line []lexeme, k int) (born, died statementValue, ok bool) {
	born, n := r.dateAt(line, k)
	if n == 0 || !hasFoldAt(line, k+n, "–", "-", "—") || k+n+1 >= len(line) {
		return born, died, false
	}
	died, m := r.dateAt(line, k+n+1)
	years := died.date[0] - born.date[0]
	return born, died, m > 0 && hasFoldAt(line, k+n+1+m, ")") && years >= 1 && years <= 115 && (n > 2 || m > 2)
}

// validityYear returns the year of the number at from..to: the nearest year with no other
// number between.
func validityYear(text string, line []lexeme, from, to int) string {
	best, distance := 0, len(line)
	for i, x := range line {
		y := lexemeYear(text, x)
		if y == 0 || i >= from && i < to || !canBeYear(line, i) || isCreationYear(line, i) {
			continue
		}
		d := from - i
		if i > from {
			d = i - to + 1
		}
		if d < distance {
			best, distance = y, d
		}
	}
	if best == 0 {
		return ""
	}
	return strconv.Itoa(best)
}

// creationVerbs are verbs of unique events. Their year is no validity time for other
// attributes. Without accents.
var creationVerbs = fieldSet(`opened reopened built completed founded established inaugurated constructed finished renovated erected launched
	eroffnet gebaut erbaut fertiggestellt gegrundet errichtet
	ouvert ouverte construit construite acheve achevee fonde fondee inaugure inauguree
	abierto abierta construido construida fundado fundada inaugurado inaugurada terminado terminada`)

// isCreationYear reports whether the year at i dates the making or opening: "opened in
// 1998", "1998 eröffnet".
func isCreationYear(line []lexeme, i int) bool {
	return slices.ContainsFunc([]int{i - 1, i - 2, i + 1}, func(j int) bool { return j >= 0 && j < len(line) && creationVerbs[line[j].fold] })
}

// canBeYear reports whether the four digits at i can be a year, not a count or amount.
func canBeYear(line []lexeme, i int) bool {
	if i+1 < len(line) {
		for _, c := range cuesByWord()[line[i+1].fold] {
			if c.afterValue {
				return false
			}
		}
		if _, n := unitAt(line, i+1); n > 0 {
			return false
		}
	}
	return true
}
