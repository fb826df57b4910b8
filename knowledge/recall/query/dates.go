package query

import (
	"slices"
	"time"
)

// readDate reads numeric dates. If ambiguous, the month is first in English, and the day in
// other languages.
func (p *parser) readDate(i int, _ bool) (s span, n int) {
	if p.tokenAt(i).kind != number || p.isInWord(i) {
		return s, 0
	}
	for _, read := range []func(int) (span, int){p.readCompact, p.readISODate, p.readISOMonth, p.readDayFirst} {
		if s, n = read(i); n > 0 && !p.continuesAt(i+n) {
			return s, n
		}
	}
	return s, 0
}

// isInWord matches numbers in words: "v2024", "1.2024".
func (p *parser) isInWord(i int) bool {
	if !p.isTight(i) {
		return false
	}
	return !p.isMark(i-1, `("'[-,;`) || p.isMark(i-1, "-") && p.tokenAt(i-2).kind == word && p.isTight(i-1)
}

// continuesAt reports whether a number or name continues at i.
func (p *parser) continuesAt(i int) bool {
	if !p.isTight(i) {
		return false
	}
	if p.tokenAt(i).kind != mark {
		return true
	}
	return p.isMark(i, "-./_%€$") && p.isTight(i+1) && p.tokenAt(i+1).kind == number || p.isMark(i, "%€$£_@\\")
}

func (p *parser) readCompact(i int) (s span, n int) {
	t := p.tokenAt(i)
	if len(t.text) != 8 || t.value < 1900_00_00 || t.value >= 2100_00_00 {
		return s, 0
	}
	s, ok := validDay(t.value/10000, t.value/100%100, t.value%100, p.now.Location())
	if !ok {
		return s, 0
	}
	return s, 1
}

// readISODate reads 2024-03-05, 2024/3/5, 2024.03.05, with an optional time of day.
func (p *parser) readISODate(i int) (s span, n int) {
	if !p.hasDigits(i, 4) || !p.isMark(i+1, "-/.") || !p.isTight(i+1) || p.tokenAt(i+3).text != p.tokenAt(i+1).text || !p.isTight(i+2) || !p.isTight(i+3) || !p.isTight(i+4) {
		return s, 0
	}
	day, rest := splitNumber(p.tokenAt(i + 4).text)
	s, ok := validDay(p.tokenAt(i).value, p.tokenAt(i+2).value, day, p.now.Location())
	if !ok || rest != "" && (rest[0] != 't' || len(rest) > 3) {
		return s, 0
	}
	n = 5
	if rest != "" { // time of day
		for p.isTight(i+n) && (p.tokenAt(i+n).kind != mark || p.isMark(i+n, ":.+-")) && n < 16 {
			n++
		}
	}
	return s, n
}

// readISOMonth reads 2024-03, 2024-W12, 2024/03.
func (p *parser) readISOMonth(i int) (s span, n int) {
	if !p.hasDigits(i, 4) || !p.isMark(i+1, "-/") || !p.isTight(i+1) || !p.isTight(i+2) || !isPlausibleYear(p.tokenAt(i).value) {
		return s, 0
	}
	y, t := p.tokenAt(i).value, p.tokenAt(i+2)
	if len(t.text) == 3 && t.text[0] == 'w' {
		if s, ok := isoWeek(y, parseDigits(t.text[1:]), p.now.Location()); ok {
			return s, 3
		}
		return s, 0
	}
	if t.kind != number || len(t.text) != 2 || t.value < 1 || t.value > 12 {
		return s, 0
	}
	return monthSpan(y, time.Month(t.value), p.now.Location()), 3
}

// readDayFirst reads 05.03.2024, 5.3.24, 3/5/2024, 05-03-2024, and German 5.3.
func (p *parser) readDayFirst(i int) (s span, n int) {
	sep := p.tokenAt(i + 1)
	a, b := p.tokenAt(i), p.tokenAt(i+2)
	if !p.isMark(i+1, "./-") || !p.isTight(i+1) || !p.isTight(i+2) || len(a.text) > 2 || len(b.text) > 2 || b.kind != number {
		return s, 0
	}
	d, m := a.value, b.value
	if (sep.text != "." && p.lang == "en" || m > 12) && d <= 12 {
		d, m = m, d
	}
	if p.tokenAt(i+3).text != sep.text || !p.isTight(i+3) {
		return s, 0
	}
	y := p.tokenAt(i + 4)
	switch {
	case y.kind == number && p.isTight(i+4) && len(y.text) == 4:
		s, ok := validDay(y.value, m, d, p.now.Location())
		return s, countIf(ok, 5)
	case y.kind == number && p.isTight(i+4) && len(y.text) == 2 && sep.text != "-":
		s, ok := validDay(expandYear(y.value, p.now), m, d, p.now.Location())
		return s, countIf(ok, 5)
	case sep.text == "." && p.lang == "de" && (y.kind != number || !p.isTight(i+4)):
		s, ok := latestYearly(p.now, func(y int) (span, bool) { return validDay(y, m, d, p.now.Location()) })
		return s, countIf(ok, 4)
	}
	return s, 0
}

func countIf(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

func (p *parser) hasDigits(i, n int) bool {
	return p.tokenAt(i).kind == number && len(p.tokenAt(i).text) == n
}

// readDecade reads "the 1990s", "the nineties", "die 90er", "les années 90", "19th
// century".
func (p *parser) readDecade(i int, led bool) (s span, n int) {
	loc := p.now.Location()
	if k, n := p.findSense(senseDecade, i); n > 0 {
		if !p.isCertainTime(i, n, led) {
			return s, 0
		}
		if p.tokenAt(i+n).text == "jahre" || p.tokenAt(i+n).text == "jahren" {
			n++
		}
		return yearSpan(p.expandDecade(k), 10, loc), n
	}
	if unit, k := p.findSense(senseUnit, i); k > 0 && unit == year && p.tokenAt(i+k).kind == number && p.lang != "en" && p.lang != "de" { // "années 90"
		if y := p.tokenAt(i + k).value; y >= 0 && y%10 == 0 && (y < 100 || isPlausibleYear(y)) {
			return yearSpan(p.expandDecade(y), 10, loc), k + 1
		}
	}
	y, suffix := splitNumber(p.tokenAt(i).text)
	n = 1
	if suffix == "" && p.isMark(i+1, "'") && p.isTight(i+1) && p.tokenAt(i+2).text == "s" {
		suffix, n = "s", 3
	}
	if unit, k := p.readCenturyUnit(i, y, suffix); k > 0 && unit == century && y > 0 && y <= 30 {
		return yearSpan(y*100-99, 100, loc), k
	}
	if suffix != "s" && suffix != "er" && suffix != "ern" || y < 0 || y%10 != 0 || y >= 100 && !isPlausibleYear(y) || suffix != "s" && p.lang != "de" {
		return s, 0
	}
	if suffix == "s" && y < 100 && !led && p.tokenAt(i-1).text != "the" && !p.isMark(i-1, "'") {
		return s, 0
	}
	if t := p.tokenAt(i + n).text; t == "jahre" || t == "jahren" || t == "jahrn" {
		n++
	}
	size := 10
	if y >= 1000 && y%100 == 0 && y < 2000 {
		size = 100 // "the 1800s"
	}
	return yearSpan(p.expandDecade(y), size, loc), n
}

// readCenturyUnit reads the unit after "19th" or "19.".
func (p *parser) readCenturyUnit(i, k int, suffix string) (unit, n int) {
	at := i + 1
	if suffix == "" && p.isMark(at, ".") && p.isTight(at) {
		at++
	} else if !isOrdinalSuffix(suffix) || k < 0 {
		return 0, 0
	}
	unit, m := p.findSense(senseUnit, at)
	if m == 0 {
		return 0, 0
	}
	return unit, at + m - i
}

func (p *parser) expandDecade(y int) int {
	if y >= 100 {
		return y
	}
	y += p.now.Year() / 100 * 100
	if y > p.now.Year() {
		y -= 100
	}
	return y
}

// readYear reads "2024", "'98", "2019-21".
func (p *parser) readYear(i int, led bool) (s span, n int) {
	at, loc := i, p.now.Location()
	if _, k := p.findSense(senseYear, i); k > 0 && p.hasDigits(i+k, 4) {
		at, led = i+k, true
	}
	if p.isMark(at, "'") && led && p.hasDigits(at+1, 2) && p.isTight(at+1) && (!p.isTight(at+2) || p.isMark(at+2, "?.,;!")) {
		return yearSpan(expandYear(p.tokenAt(at+1).value, p.now), 1, loc), at + 2 - i
	}
	t := p.tokenAt(at)
	if !p.hasDigits(at, 4) || !isPlausibleYear(t.value) || p.isInWord(at) || p.isAmount(at) {
		return s, 0
	}
	if !led && (t.value < 1900 || t.value > p.now.Year()+5 || p.isNumberedName(at)) {
		return s, 0
	}
	if p.isMark(at+1, "-") && p.isTight(at+1) && p.hasDigits(at+2, 2) && p.isTight(at+2) && p.tokenAt(at+2).value > max(12, t.value%100) {
		return yearSpan(t.value, p.tokenAt(at+2).value-t.value%100+1, loc), at + 3 - i
	}
	if p.continuesAt(at+1) && !(p.isMark(at+1, "-/") && p.hasDigits(at+2, 4) && isPlausibleYear(p.tokenAt(at+2).value)) {
		return s, 0
	}
	return yearSpan(t.value, 1, loc), at + 1 - i
}

// isAmount matches amounts: "2000 words", "2000%".
func (p *parser) isAmount(i int) bool {
	next := p.tokenAt(i + 1)
	if p.isMark(i+1, "%€$£°") || p.isTight(i+1) && (p.isMark(i+1, ".,") && p.isTight(i+2) && p.tokenAt(i+2).kind == number || p.isMark(i+1, ":=_@")) {
		return true
	}
	if p.isMark(i-1, "$€£#+*=") {
		return true
	}
	return next.kind == word && slices.Contains(countedNouns, next.text)
}

var countedNouns = []string{
	"words", "pages", "people", "users", "times", "lines", "files", "rows", "items", "points", "steps", "years", "days", "hours", "minutes", "seconds", "weeks", "months",
	"dollars", "euros", "euro", "eur", "usd", "gbp", "pounds", "bucks", "km", "m", "cm", "mm", "kg", "g", "mg", "l", "ml", "w", "kw", "kwh", "v", "a", "mb", "gb", "tb", "kb",
	"bytes", "ms", "rpm", "hz", "mhz", "px", "calories", "kcal", "miles", "feet", "ft", "metres", "meters", "percent", "worter", "seiten", "leute", "franken", "jahre",
	"mots", "personnes", "ans", "palabras", "personas", "anos", "or", "participants", "employees", "customers", "books", "photos",
}

// isNumberedName matches names: "Windows 2000".
func (p *parser) isNumberedName(i int) bool {
	before := p.tokenAt(i - 1)
	return before.kind == word && (before.caps && !p.lex.hasWord(before.text) || slices.Contains(numberedNouns, before.text))
}

var numberedNouns = []string{
	"windows", "office", "server", "version", "room", "page", "port", "line", "chapter", "issue", "number", "nr", "no", "model", "level", "section", "error", "step", "id", "code", "bus",
	"highway", "route", "runner", "studio", "ticket", "order", "invoice", "zimmer", "seite", "nummer", "zeile", "linie", "salle", "numero", "pagina", "sala", "linea", "top", "over", "than", "about",
	"rfc", "iso", "cve", "build", "unit", "flat", "peugeot", "article", "pin", "extension", "case", "isbn", "pr", "plz", "zip", "postcode", "exactly", "under", "least", "most", "almost", "nearly",
}
