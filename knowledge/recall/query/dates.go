package query

import (
	"slices"
	"time"
)

// date reads numeric dates. If ambiguous, the month is first in English, and the day in
// other languages.
func (p *parser) date(i int, _ bool) (s span, n int) {
	if p.at(i).kind != number || p.bound(i) {
		return s, 0
	}
	for _, read := range []func(int) (span, int){p.compact, p.isoDate, p.isoMonth, p.dayFirst} {
		if s, n = read(i); n > 0 && !p.goesOn(i+n) {
			return s, n
		}
	}
	return s, 0
}

// bound matches numbers in words: "v2024", "1.2024".
func (p *parser) bound(i int) bool {
	if !p.tight(i) {
		return false
	}
	return !p.is(i-1, `("'[-,;`) || p.is(i-1, "-") && p.at(i-2).kind == word && p.tight(i-1)
}

// goesOn reports whether a number or name continues at i.
func (p *parser) goesOn(i int) bool {
	if !p.tight(i) {
		return false
	}
	if p.at(i).kind != mark {
		return true
	}
	return p.is(i, "-./_%€$") && p.tight(i+1) && p.at(i+1).kind == number || p.is(i, "%€$£_@\\")
}

func (p *parser) compact(i int) (s span, n int) {
	t := p.at(i)
	if len(t.text) != 8 || t.value < 1900_00_00 || t.value >= 2100_00_00 {
		return s, 0
	}
	s, ok := valid(t.value/10000, t.value/100%100, t.value%100, p.now.Location())
	if !ok {
		return s, 0
	}
	return s, 1
}

// isoDate reads 2024-03-05, 2024/3/5, 2024.03.05, with an optional time of day.
func (p *parser) isoDate(i int) (s span, n int) {
	if !p.digits(i, 4) || !p.is(i+1, "-/.") || !p.tight(i+1) || p.at(i+3).text != p.at(i+1).text || !p.tight(i+2) || !p.tight(i+3) || !p.tight(i+4) {
		return s, 0
	}
	day, rest := leading(p.at(i + 4).text)
	s, ok := valid(p.at(i).value, p.at(i+2).value, day, p.now.Location())
	if !ok || rest != "" && (rest[0] != 't' || len(rest) > 3) {
		return s, 0
	}
	n = 5
	if rest != "" { // time of day
		for p.tight(i+n) && (p.at(i+n).kind != mark || p.is(i+n, ":.+-")) && n < 16 {
			n++
		}
	}
	return s, n
}

// isoMonth reads 2024-03, 2024-W12, 2024/03.
func (p *parser) isoMonth(i int) (s span, n int) {
	if !p.digits(i, 4) || !p.is(i+1, "-/") || !p.tight(i+1) || !p.tight(i+2) || !plausible(p.at(i).value) {
		return s, 0
	}
	y, t := p.at(i).value, p.at(i+2)
	if len(t.text) == 3 && t.text[0] == 'w' {
		if s, ok := isoWeek(y, digits(t.text[1:]), p.now.Location()); ok {
			return s, 3
		}
		return s, 0
	}
	if t.kind != number || len(t.text) != 2 || t.value < 1 || t.value > 12 {
		return s, 0
	}
	return monthOf(y, time.Month(t.value), p.now.Location()), 3
}

// dayFirst reads 05.03.2024, 5.3.24, 3/5/2024, 05-03-2024, and German 5.3.
func (p *parser) dayFirst(i int) (s span, n int) {
	sep := p.at(i + 1)
	a, b := p.at(i), p.at(i+2)
	if !p.is(i+1, "./-") || !p.tight(i+1) || !p.tight(i+2) || len(a.text) > 2 || len(b.text) > 2 || b.kind != number {
		return s, 0
	}
	d, m := a.value, b.value
	if (sep.text != "." && p.lang == "en" || m > 12) && d <= 12 {
		d, m = m, d
	}
	if p.at(i+3).text != sep.text || !p.tight(i+3) {
		return s, 0
	}
	y := p.at(i + 4)
	switch {
	case y.kind == number && p.tight(i+4) && len(y.text) == 4:
		s, ok := valid(y.value, m, d, p.now.Location())
		return s, count(ok, 5)
	case y.kind == number && p.tight(i+4) && len(y.text) == 2 && sep.text != "-":
		s, ok := valid(short(y.value, p.now), m, d, p.now.Location())
		return s, count(ok, 5)
	case sep.text == "." && p.lang == "de" && (y.kind != number || !p.tight(i+4)):
		s, ok := last(p.now, func(y int) (span, bool) { return valid(y, m, d, p.now.Location()) })
		return s, count(ok, 4)
	}
	return s, 0
}

func count(ok bool, n int) int {
	if ok {
		return n
	}
	return 0
}

func (p *parser) digits(i, n int) bool { return p.at(i).kind == number && len(p.at(i).text) == n }

// decade reads "the 1990s", "the nineties", "die 90er", "les années 90", "19th
// century".
func (p *parser) decade(i int, led bool) (s span, n int) {
	loc := p.now.Location()
	if k, n := p.find(senseDecade, i); n > 0 {
		if !p.sure(i, n, led) {
			return s, 0
		}
		if p.at(i+n).text == "jahre" || p.at(i+n).text == "jahren" {
			n++
		}
		return yearOf(p.inCentury(k), 10, loc), n
	}
	if unit, k := p.find(senseUnit, i); k > 0 && unit == year && p.at(i+k).kind == number && p.lang != "en" && p.lang != "de" { // "années 90"
		if y := p.at(i + k).value; y >= 0 && y%10 == 0 && (y < 100 || plausible(y)) {
			return yearOf(p.inCentury(y), 10, loc), k + 1
		}
	}
	y, suffix := leading(p.at(i).text)
	n = 1
	if suffix == "" && p.is(i+1, "'") && p.tight(i+1) && p.at(i+2).text == "s" {
		suffix, n = "s", 3
	}
	if unit, k := p.centuryBehind(i, y, suffix); k > 0 && unit == century && y > 0 && y <= 30 {
		return yearOf(y*100-99, 100, loc), k
	}
	if suffix != "s" && suffix != "er" && suffix != "ern" || y < 0 || y%10 != 0 || y >= 100 && !plausible(y) || suffix != "s" && p.lang != "de" {
		return s, 0
	}
	if suffix == "s" && y < 100 && !led && p.at(i-1).text != "the" && !p.is(i-1, "'") {
		return s, 0
	}
	if t := p.at(i + n).text; t == "jahre" || t == "jahren" || t == "jahrn" {
		n++
	}
	size := 10
	if y >= 1000 && y%100 == 0 && y < 2000 {
		size = 100 // "the 1800s"
	}
	return yearOf(p.inCentury(y), size, loc), n
}

// centuryBehind reads the unit after "19th" or "19.".
func (p *parser) centuryBehind(i, k int, suffix string) (unit, n int) {
	at := i + 1
	if suffix == "" && p.is(at, ".") && p.tight(at) {
		at++
	} else if !ordinal(suffix) || k < 0 {
		return 0, 0
	}
	unit, m := p.find(senseUnit, at)
	if m == 0 {
		return 0, 0
	}
	return unit, at + m - i
}

func (p *parser) inCentury(y int) int {
	if y >= 100 {
		return y
	}
	y += p.now.Year() / 100 * 100
	if y > p.now.Year() {
		y -= 100
	}
	return y
}

// year reads "2024", "'98", "2019-21".
func (p *parser) year(i int, led bool) (s span, n int) {
	at, loc := i, p.now.Location()
	if _, k := p.find(senseYear, i); k > 0 && p.digits(i+k, 4) {
		at, led = i+k, true
	}
	if p.is(at, "'") && led && p.digits(at+1, 2) && p.tight(at+1) && (!p.tight(at+2) || p.is(at+2, "?.,;!")) {
		return yearOf(short(p.at(at+1).value, p.now), 1, loc), at + 2 - i
	}
	t := p.at(at)
	if !p.digits(at, 4) || !plausible(t.value) || p.bound(at) || p.counts(at) {
		return s, 0
	}
	if !led && (t.value < 1900 || t.value > p.now.Year()+5 || p.named(at)) {
		return s, 0
	}
	if p.is(at+1, "-") && p.tight(at+1) && p.digits(at+2, 2) && p.tight(at+2) && p.at(at+2).value > max(12, t.value%100) {
		return yearOf(t.value, p.at(at+2).value-t.value%100+1, loc), at + 3 - i
	}
	if p.goesOn(at+1) && !(p.is(at+1, "-/") && p.digits(at+2, 4) && plausible(p.at(at+2).value)) {
		return s, 0
	}
	return yearOf(t.value, 1, loc), at + 1 - i
}

// counts matches amounts: "2000 words", "2000%".
func (p *parser) counts(i int) bool {
	next := p.at(i + 1)
	if p.is(i+1, "%€$£°") || p.tight(i+1) && (p.is(i+1, ".,") && p.tight(i+2) && p.at(i+2).kind == number || p.is(i+1, ":=_@")) {
		return true
	}
	if p.is(i-1, "$€£#+*=") {
		return true
	}
	return next.kind == word && slices.Contains(counted, next.text)
}

var counted = []string{
	"words", "pages", "people", "users", "times", "lines", "files", "rows", "items", "points", "steps", "years", "days", "hours", "minutes", "seconds", "weeks", "months",
	"dollars", "euros", "euro", "eur", "usd", "gbp", "pounds", "bucks", "km", "m", "cm", "mm", "kg", "g", "mg", "l", "ml", "w", "kw", "kwh", "v", "a", "mb", "gb", "tb", "kb",
	"bytes", "ms", "rpm", "hz", "mhz", "px", "calories", "kcal", "miles", "feet", "ft", "metres", "meters", "percent", "worter", "seiten", "leute", "franken", "jahre",
	"mots", "personnes", "ans", "palabras", "personas", "anos", "or", "participants", "employees", "customers", "books", "photos",
}

// named matches names: "Windows 2000".
func (p *parser) named(i int) bool {
	before := p.at(i - 1)
	return before.kind == word && (before.caps && !p.lex.knows(before.text) || slices.Contains(numbered, before.text))
}

var numbered = []string{
	"windows", "office", "server", "version", "room", "page", "port", "line", "chapter", "issue", "number", "nr", "no", "model", "level", "section", "error", "step", "id", "code", "bus",
	"highway", "route", "runner", "studio", "ticket", "order", "invoice", "zimmer", "seite", "nummer", "zeile", "linie", "salle", "numero", "pagina", "sala", "linea", "top", "over", "than", "about",
	"rfc", "iso", "cve", "build", "unit", "flat", "peugeot", "article", "pin", "extension", "case", "isbn", "pr", "plz", "zip", "postcode", "exactly", "under", "least", "most", "almost", "nearly",
}
