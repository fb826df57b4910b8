package claim

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A stated is a statement of a quote about an attribute.
type stated struct {
	quote      int
	start, end int      // of the sentence, bytes of the quote
	subject    []string // words of the nearest name
	attribute  *attribute
	dimension  string
	time       string // the year of validity, if the sentence gives one
	scope      string // the part of the thing, if given
	worth      worth
	qualifiers []string // that distinguish namesakes
	rank       int      // certainty that the statement answers the question
	copied     bool     // framed, and long enough to be an altered copy
	framed     bool     // another quote has the same sentence with another value
}

// A statedCue is a phrase beside the value of an attribute.
type statedCue struct {
	attribute  *attribute
	phrase     []string
	behind     bool        // after the value
	listedTerm *listedTerm // the cue itself is the value
}

var statedCues = sync.OnceValue(func() map[string][]statedCue {
	by := make(map[string][]statedCue)
	for _, a := range attributes() {
		a.cue(by)
	}
	return by
})

func (a *attribute) cue(by map[string][]statedCue) {
	for _, p := range a.before {
		by[p[0]] = append(by[p[0]], statedCue{attribute: a, phrase: p})
	}
	for _, p := range a.behind {
		by[p[0]] = append(by[p[0]], statedCue{attribute: a, phrase: p, behind: true})
	}
	for i := range a.terms {
		for _, p := range a.terms[i].forms {
			by[p[0]] = append(by[p[0]], statedCue{attribute: a, phrase: p, listedTerm: &a.terms[i]})
		}
	}
}

type statedReader struct {
	text  string
	quote int
	only  *attribute // nil reads all
	lead  []string   // subject of the quote, from its beginning or context
	found []stated
	own   map[string][]statedCue // cues of an attribute outside the table
}

func statedIn(q Quote, i int, only *attribute, sentences [][]lexeme) []stated {
	r := &statedReader{text: q.Text, quote: i, only: only, lead: leadOf(q, sentences)}
	if only != nil && !slices.Contains(attributes(), only) {
		r.own = make(map[string][]statedCue)
		only.cue(r.own)
	}
	for _, line := range sentences {
		r.sentence(line)
	}
	return r.found
}

func (r *statedReader) sentence(line []lexeme) {
	if tabulated(line) {
		r.labels(line)
		return
	}
	subject := subjectOf(line)
	table := statedCues()
	r.lifespan(line, subject)
	for i := range line {
		if line[i].kind != lexWord {
			continue
		}
		for _, c := range r.cuesAt(table, line[i].fold) {
			if r.only != nil && c.attribute != r.only || c.listedTerm != nil || phraseAt(line, i, c.phrase) == 0 {
				continue
			}
			if c.behind {
				r.before(line, i, c.attribute, subject)
			} else {
				r.after(line, i+len(c.phrase), i, c.attribute, subject)
			}
		}
	}
	r.measured(line, subject)
	r.terms(line, subject)
}

var measureCues = cuePhrases(`measured at, measured, measures, mesure, mesure a, misst, gemessen, mide`)

// measured reads "was measured at 10,994 metres" as the asked depth, if the sentence
// has a word of it.
func (r *statedReader) measured(line []lexeme, subject []string) {
	a := r.only
	if a == nil || a.dimension != "m" || !slices.ContainsFunc(line, func(x lexeme) bool { return a.asks[x.fold] }) {
		return
	}
	for i := range line {
		k := i + phraseAny(line, i, measureCues)
		if k == i || k >= len(line) {
			continue
		}
		if m, ok := statedNumberAt(r.text, line, k); ok && fitsDimension(m, a) {
			r.add(line, subject, a, m.dimension, timeAt(r.text, line, m.from, m.to), m.worth)
			return
		}
	}
}

func (r *statedReader) cuesAt(table map[string][]statedCue, word string) []statedCue {
	if own := r.own[word]; len(own) > 0 {
		return own
	}
	return table[word]
}

func (r *statedReader) labels(line []lexeme) {
	for i := range line {
		for _, a := range attributes() {
			switch {
			case r.only != nil && r.only != a || i+1 >= len(line):
			case a.kind == termWorth && a.asks[line[i].fold]:
				r.label(line, i+1, a, nil)
			case a.kind == dateWorth && phraseAny(line, i, a.before) > 0:
				k := i + phraseAny(line, i, a.before)
				if k < len(line) && line[k].fold == ":" {
					k++
				}
				if k >= len(line) {
					continue
				}
				if v, n := statedDateAt(r.text, line, k); n > 0 && v.date[0] > 0 {
					r.add(line, nil, a, "", "", v)
				}
			}
		}
	}
}

// tabulated reports whether a sentence is a table or menu: many numbers, or almost no
// lower-case words. Neighbouring words are unrelated there.
func tabulated(line []lexeme) bool {
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

func (r *statedReader) add(line []lexeme, subject []string, a *attribute, dimension, time string, v worth) {
	if len(subject) == 0 {
		subject = r.lead
	}
	scope := ""
	if a.parts {
		scope = placeIn(line)
	}
	if a.lasts() && surveyed(line) {
		time = "" // date of the survey
	}
	r.found = append(r.found, stated{
		quote: r.quote, start: line[0].start, end: line[len(line)-1].end, subject: subject, attribute: a, dimension: dimension, time: time, scope: scope, worth: v,
	})
}

// lasts reports whether the attribute is a physical dimension, which hardly changes.
func (a *attribute) lasts() bool { return a.dimension == "m" || a.dimension == "m2" }

func surveyed(line []lexeme) bool {
	return slices.ContainsFunc(line, func(x lexeme) bool { return surveyWords[x.fold] })
}

var surveyWords = fieldSet(`survey surveys surveyed measured measurement measurements expedition sonar study estimated gemessen vermessung messung mesure mesuree releve expedition medido medicion estudio`)

func placeIn(line []lexeme) string {
	for i := range line {
		if !foldAt(line, i, "in", "across", "outside", "within", "en", "dans") {
			continue
		}
		k := skipped(line, i+1, 1, "the", "der", "den", "la", "el", "l")
		from := k
		for upperAt(line, k) && monthOf(line[k].fold) == 0 {
			k++
		}
		if k > from {
			return foldsOf(line[i:k])
		}
	}
	return ""
}

func foldsOf(line []lexeme) string {
	var list []string
	for _, x := range line {
		list = append(list, x.fold)
	}
	return strings.Join(list, " ")
}

func (r *statedReader) after(line []lexeme, k, at int, a *attribute, subject []string) {
	if name, n := ofName(line, k); n > 0 && a.kind == numberWorth {
		subject, k = name, k+n
	}
	switch a.kind {
	case numberWorth:
		r.number(line, k, a, subject)
	case dateWorth:
		r.date(line, k, at, a, subject)
	case nameWorth, placeWorth:
		if k-at == 1 && a.kind == nameWorth && (k >= len(line) || line[k].fold != ":" && line[k].fold != "=" && !copulas[line[k].fold]) {
			return // a heading, or part of a name
		}
		if k < len(line) && copulas[line[k].fold] {
			k++
		}
		if v, ok := statedNameAt(r.text, line, k, a.kind); ok {
			r.add(line, subject, a, "", "", v)
		}
	}
}

// numberTurns are words after which a number belongs to another attribute.
var numberTurns = fieldSet(`density growth rate grew increased decreased rose fell declined rural urban female male loss change per aged under ranking rank largest million-plus dichte wachstum densite croissance densidad crecimiento gestiegen gesunken households families up down by`)

func (r *statedReader) number(line []lexeme, k int, a *attribute, subject []string) {
	for end := min(len(line), k+12); k < end; k++ {
		if line[k].fold == ";" || numberTurns[line[k].fold] {
			return
		}
		if _, n := statedDateAt(r.text, line, k); n > 0 && !isAmount(r.text, line, k, a) {
			k += n - 1
			continue
		}
		m, ok := statedNumberAt(r.text, line, k)
		if !ok {
			continue
		}
		if fitsDimension(m, a) {
			r.add(line, subject, a, m.dimension, timeAt(r.text, line, m.from, m.to), m.worth)
		}
		return
	}
}

// isAmount reports whether the number at k, perhaps a year, has a unit of the
// attribute.
func isAmount(text string, line []lexeme, k int, a *attribute) bool {
	m, ok := statedNumberAt(text, line, k)
	return ok && m.dimension != "" && fitsDimension(m, a)
}

func fitsDimension(m statedNumber, a *attribute) bool {
	if a.dimension == "money" {
		return slices.Contains([]string{"USD", "EUR", "GBP", "JPY"}, m.dimension)
	}
	return m.dimension == a.dimension
}

func (r *statedReader) before(line []lexeme, i int, a *attribute, subject []string) {
	if a.kind != numberWorth {
		return
	}
	for k := i - 1; k >= max(0, i-7); k-- {
		m, ok := statedNumberAt(r.text, line, k)
		if !ok {
			continue
		}
		if m.to >= i-1 && m.to <= i && fitsDimension(m, a) && !aYear(r.text, line, k, a) && !derived(line, m.from) {
			r.add(line, subject, a, m.dimension, timeAt(r.text, line, m.from, m.to), m.worth)
		}
		return
	}
}

// derived reports whether a word shortly before a number makes it a ratio or a count
// of employees.
func derived(line []lexeme, from int) bool {
	return slices.ContainsFunc(line[max(0, from-6):from], func(x lexeme) bool { return ratios[x.fold] })
}

var ratios = fieldSet(`density growth rate median average mean dichte durchschnitt densite moyenne densidad media tasa employ employs employed employing beschaftigt emploie emplea`)

func aYear(text string, line []lexeme, k int, a *attribute) bool {
	return a.dimension == "" && lexemeYear(text, line[k]) > 0 && k > 0 && (line[k-1].fold == "in" || line[k-1].fold == "en" || line[k-1].fold == "of")
}

var fetchedWords = fieldSet(`retrieved archived accessed edited modified updated abgerufen consulte consultado`)

func (r *statedReader) date(line []lexeme, k, at int, a *attribute, subject []string) {
	v, ok := r.dateBehind(line, k, a)
	if !ok {
		v, ok = r.dateBefore(line, at)
	}
	if ok {
		r.add(line, subject, a, "", "", v)
	}
}

func (r *statedReader) dateBehind(line []lexeme, k int, a *attribute) (v worth, ok bool) {
	for j, end := k, min(len(line), k+14); j < end; j++ {
		if line[j].fold == ";" || fetchedWords[line[j].fold] || j > k && (isDateCue(line, j, a) || participle(line[j])) {
			break
		}
		if v, n := r.dated(line, j); n > 0 {
			return v, true
		}
	}
	return v, false
}

// dateBefore reads a date directly before a cue, as in German, or at the start of the
// sentence.
func (r *statedReader) dateBefore(line []lexeme, at int) (v worth, ok bool) {
	for j := max(0, at-7); j < at; j++ {
		if v, n := r.dated(line, j); n > 1 && j+n <= at && at-j-n < 2 {
			return v, true
		}
	}
	for j := 1; j < min(at, 3); j++ {
		if v, n := r.dated(line, j); n > 0 && j+n < at && at-j-n < 12 {
			return v, true
		}
	}
	return v, false
}

func (r *statedReader) dated(line []lexeme, j int) (v worth, n int) {
	if v, n = statedDateAt(r.text, line, j); n == 0 || v.date[0] == 0 {
		return v, 0
	}
	v.slack = dateSlack(line, j, v)
	return v, n
}

func participle(x lexeme) bool {
	return x.kind == lexWord && !x.upper && len(x.fold) > 4 && strings.HasSuffix(x.fold, "ed")
}

func isDateCue(line []lexeme, j int, a *attribute) bool {
	return slices.ContainsFunc(statedCues()[line[j].fold], func(c statedCue) bool {
		return c.attribute.kind == dateWorth && c.attribute != a && c.listedTerm == nil && phraseAt(line, j, c.phrase) > 0
	})
}

func dateSlack(line []lexeme, j int, v worth) float64 {
	if j > 0 && vagueWords[line[j-1].fold] && v.date[1] == 0 {
		return 5
	}
	return 0
}

func (r *statedReader) lifespan(line []lexeme, subject []string) {
	for i := 1; i+3 < len(line) && i < 30; i++ {
		if !foldAt(line, i, "(") || !line[i-1].upper {
			continue
		}
		born, died, ok := r.span(line, i+1)
		if !ok {
			continue
		}
		for _, a := range attributes() {
			switch {
			case r.only != nil && a != r.only:
			case a.name == "born":
				r.add(line, subject, a, "", "", born)
			case a.name == "died":
				r.add(line, subject, a, "", "", died)
			}
		}
	}
}

// span reads two dates in "born – died)". At least one must be a full day, and 1 to
// 115 years lie between them.
func (r *statedReader) span(line []lexeme, k int) (born, died worth, ok bool) {
	born, n := r.dated(line, k)
	if n == 0 || !foldAt(line, k+n, "–", "-", "—") || k+n+1 >= len(line) {
		return born, died, false
	}
	died, m := r.dated(line, k+n+1)
	years := died.date[0] - born.date[0]
	return born, died, m > 0 && foldAt(line, k+n+1+m, ")") && years >= 1 && years <= 115 && (n > 2 || m > 2)
}

// timeAt returns the year of the number at from..to: the nearest year with no other
// number between.
func timeAt(text string, line []lexeme, from, to int) string {
	best, distance := 0, len(line)
	for i, x := range line {
		y := lexemeYear(text, x)
		if y == 0 || i >= from && i < to || !yearly(line, i) || ofMaking(line, i) {
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

// makings are verbs of unique events. Their year is no validity time for other
// attributes. Without accents.
var makings = fieldSet(`opened reopened built completed founded established inaugurated constructed finished renovated erected launched
	eroffnet gebaut erbaut fertiggestellt gegrundet errichtet
	ouvert ouverte construit construite acheve achevee fonde fondee inaugure inauguree
	abierto abierta construido construida fundado fundada inaugurado inaugurada terminado terminada`)

// ofMaking reports whether the year at i dates the making or opening: "opened in
// 1998", "1998 eröffnet".
func ofMaking(line []lexeme, i int) bool {
	return slices.ContainsFunc([]int{i - 1, i - 2, i + 1}, func(j int) bool { return j >= 0 && j < len(line) && makings[line[j].fold] })
}

// yearly reports whether the four digits at i can be a year, not a count or amount.
func yearly(line []lexeme, i int) bool {
	if i+1 < len(line) {
		for _, c := range statedCues()[line[i+1].fold] {
			if c.behind {
				return false
			}
		}
		if _, n := unitAt(line, i+1); n > 0 {
			return false
		}
	}
	return true
}
