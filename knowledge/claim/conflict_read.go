package claim

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A stated is what a quote says of an attribute of a thing.
type stated struct {
	quote      int
	start, end int      // of the sentence, bytes of the quote
	subject    []string // words of the name of the thing, as near to the statement as there are any
	attribute  *attribute
	dimension  string
	time       string // the year it holds for, if the sentence says so
	scope      string // what part of the thing it is of, where that is told
	worth      worth
	qualifiers []string // that tell the thing from others of its name
	rank       int      // how surely it is of what is asked
	copied     bool     // as framed, and the sentence is so long that one is a copy of the other
	framed     bool     // another quote has the same sentence with another value
}

// A statedCue is a phrase that a value of an attribute stands beside.
type statedCue struct {
	attribute  *attribute
	phrase     []string
	behind     bool        // it stands behind the value
	listedTerm *listedTerm // it is itself a value
}

// statedCues are those of the table by their first word.
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

// A statedReader reads the statements of a quote.
type statedReader struct {
	text  string
	quote int
	only  *attribute // if not nil, no other is read
	lead  []string   // what the quote is about, as far as its beginning or context tells
	found []stated
	own   map[string][]statedCue // of an attribute that is not in the table
}

// statedIn returns the statements of a quote.
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

// measureCues stand before a length that says itself not what it is of.
var measureCues = cuePhrases(`measured at, measured, measures, mesure, mesure a, misst, gemessen, mide`)

// measured reads "was measured at 10,994 metres" as the depth that is asked for, if the
// sentence has a word of it.
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

// cuesAt returns the cues that begin with a word.
func (r *statedReader) cuesAt(table map[string][]statedCue, word string) []statedCue {
	if own := r.own[word]; len(own) > 0 {
		return own
	}
	return table[word]
}

// labels reads the dates and terms of a table that stand right behind the name of their
// attribute.
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

// tabulated reports whether a sentence is a table or a menu: many numbers, or hardly a word
// that begins small. What stands beside what is not to be told there.
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

// add keeps a statement.
func (r *statedReader) add(line []lexeme, subject []string, a *attribute, dimension, time string, v worth) {
	if len(subject) == 0 {
		subject = r.lead
	}
	scope := ""
	if a.parts {
		scope = placeIn(line)
	}
	if a.lasts() && surveyed(line) {
		time = "" // of who looked, not of the thing
	}
	r.found = append(r.found, stated{
		quote: r.quote, start: line[0].start, end: line[len(line)-1].end, subject: subject, attribute: a, dimension: dimension, time: time, scope: scope, worth: v,
	})
}

// lasts reports whether an attribute is of what hardly changes.
func (a *attribute) lasts() bool { return a.dimension == "m" || a.dimension == "m2" }

// surveyed reports whether a sentence tells of a measurement.
func surveyed(line []lexeme) bool {
	return slices.ContainsFunc(line, func(x lexeme) bool { return surveyWords[x.fold] })
}

var surveyWords = fieldSet(`survey surveys surveyed measured measurement measurements expedition sonar study estimated gemessen vermessung messung mesure mesuree releve expedition medido medicion estudio`)

// placeIn returns the first place that a sentence speaks of with "in", or "".
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

// after reads the value that stands behind a cue.
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

// numberTurns are words behind which a number is of something else than what the cue names.
var numberTurns = fieldSet(`density growth rate grew increased decreased rose fell declined rural urban female male loss change per aged under ranking rank largest million-plus dichte wachstum densite croissance densidad crecimiento gestiegen gesunken households families up down by`)

// number finds the first number behind a cue that may be its value.
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

// isAmount reports whether the number at k, which may be a year, has the unit that an
// attribute needs.
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

// before reads the number that stands in front of a cue, with at most one word between.
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

// derived reports whether a word shortly before a number says that it is a ratio, or
// counts people who work somewhere.
func derived(line []lexeme, from int) bool {
	return slices.ContainsFunc(line[max(0, from-6):from], func(x lexeme) bool { return ratios[x.fold] })
}

var ratios = fieldSet(`density growth rate median average mean dichte durchschnitt densite moyenne densidad media tasa employ employs employed employing beschaftigt emploie emplea`)

// aYear reports whether the number at k is rather a year: it has no unit, and a word
// such as "in" stands before it.
func aYear(text string, line []lexeme, k int, a *attribute) bool {
	return a.dimension == "" && lexemeYear(text, line[k]) > 0 && k > 0 && (line[k-1].fold == "in" || line[k-1].fold == "en" || line[k-1].fold == "of")
}

// fetchedWords are words before dates that tell when somebody looked.
var fetchedWords = fieldSet(`retrieved archived accessed edited modified updated abgerufen consulte consultado`)

// date finds the date behind a cue, or the one in front of it.
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

// dateBefore finds a date right in front of a cue, as in German, or at the beginning of
// its sentence.
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

// dated reads a date that has a year.
func (r *statedReader) dated(line []lexeme, j int) (v worth, n int) {
	if v, n = statedDateAt(r.text, line, j); n == 0 || v.date[0] == 0 {
		return v, 0
	}
	v.slack = dateSlack(line, j, v)
	return v, n
}

// participle reports whether a word tells of something else that was done.
func participle(x lexeme) bool {
	return x.kind == lexWord && !x.upper && len(x.fold) > 4 && strings.HasSuffix(x.fold, "ed")
}

func isDateCue(line []lexeme, j int, a *attribute) bool {
	return slices.ContainsFunc(statedCues()[line[j].fold], func(c statedCue) bool {
		return c.attribute.kind == dateWorth && c.attribute != a && c.listedTerm == nil && phraseAt(line, j, c.phrase) > 0
	})
}

// dateSlack returns how many years a year may be off.
func dateSlack(line []lexeme, j int, v worth) float64 {
	if j > 0 && vagueWords[line[j-1].fold] && v.date[1] == 0 {
		return 5
	}
	return 0
}

// lifespan reads "Name (8 February 1900 – 2 March 1977)".
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

// span reads two dates with a dash between and a bracket behind, at least one of them a
// day, that may be those of a life.
func (r *statedReader) span(line []lexeme, k int) (born, died worth, ok bool) {
	born, n := r.dated(line, k)
	if n == 0 || !foldAt(line, k+n, "–", "-", "—") || k+n+1 >= len(line) {
		return born, died, false
	}
	died, m := r.dated(line, k+n+1)
	years := died.date[0] - born.date[0]
	return born, died, m > 0 && foldAt(line, k+n+1+m, ")") && years >= 1 && years <= 115 && (n > 2 || m > 2)
}

// timeAt returns the year that the number from..to holds for: the nearest of the
// sentence, with no other number between.
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

// makings are what is done to a thing once, in words of the sentences that say when:
// that is no time of what else they say of it. Without accents.
var makings = fieldSet(`opened reopened built completed founded established inaugurated constructed finished renovated erected launched
	eroffnet gebaut erbaut fertiggestellt gegrundet errichtet
	ouvert ouverte construit construite acheve achevee fonde fondee inaugure inauguree
	abierto abierta construido construida fundado fundada inaugurado inaugurada terminado terminada`)

// ofMaking reports whether the year at i is that in which the thing was made or opened:
// "opened in 1998", "1998 eröffnet".
func ofMaking(line []lexeme, i int) bool {
	return slices.ContainsFunc([]int{i - 1, i - 2, i + 1}, func(j int) bool { return j >= 0 && j < len(line) && makings[line[j].fold] })
}

// yearly reports whether nothing makes a number of four digits at i something else than
// a year, as what is counted would.
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
