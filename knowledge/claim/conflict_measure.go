package claim

import (
	"math"
	"slices"
)

// A measureUnit is a multiple of the base unit of its dimension.
type measureUnit struct {
	dimension string
	factor    float64
}

// measureUnits are the convertible units. Counts have no dimension.
var measureUnits = map[string]measureUnit{
	"km": {"m", 1000}, "kilometer": {"m", 1000}, "kilometre": {"m", 1000}, "kilometers": {"m", 1000}, "kilometres": {"m", 1000}, "kilometern": {"m", 1000}, "kilometros": {"m", 1000},
	"m": {"m", 1}, "meter": {"m", 1}, "metre": {"m", 1}, "meters": {"m", 1}, "metres": {"m", 1}, "metern": {"m", 1}, "metros": {"m", 1}, "metro": {"m", 1},
	"cm": {"m", 0.01}, "mm": {"m", 0.001}, "mi": {"m", 1609.344}, "mile": {"m", 1609.344}, "miles": {"m", 1609.344}, "ft": {"m", 0.3048}, "feet": {"m", 0.3048}, "foot": {"m", 0.3048},
	"km2": {"m2", 1e6}, "km²": {"m2", 1e6}, "m2": {"m2", 1}, "m²": {"m2", 1}, "ha": {"m2", 1e4}, "hectare": {"m2", 1e4}, "hectares": {"m2", 1e4}, "hektar": {"m2", 1e4}, "acre": {"m2", 4046.856}, "acres": {"m2", 4046.856},
	"kg": {"kg", 1}, "g": {"kg", 0.001}, "kilogram": {"kg", 1}, "kilograms": {"kg", 1}, "lb": {"kg", 0.45359237}, "lbs": {"kg", 0.45359237}, "pounds": {"kg", 0.45359237}, "ton": {"kg", 1000}, "tonne": {"kg", 1000}, "tons": {"kg", 1000}, "tonnes": {"kg", 1000}, "tonnen": {"kg", 1000}, "tonelladas": {"kg", 1000}, "t": {"kg", 1000},
	"%": {"%", 1}, "percent": {"%", 1}, "prozent": {"%", 1},
	"cc": {"cc", 1}, "cm3": {"cc", 1}, "litre": {"cc", 1000}, "liter": {"cc", 1000}, "litres": {"cc", 1000}, "liters": {"cc", 1000}, "l": {"cc", 1000},
	"mw": {"W", 1e6}, "gw": {"W", 1e9}, "kw": {"W", 1e3}, "megawatts": {"W", 1e6}, "megawatt": {"W", 1e6},
	"hour": {"s", 3600}, "hours": {"s", 3600}, "h": {"s", 3600}, "stunden": {"s", 3600}, "heures": {"s", 3600}, "horas": {"s", 3600},
	"minute": {"s", 60}, "minutes": {"s", 60}, "min": {"s", 60}, "minuten": {"s", 60}, "minutos": {"s", 60}, "seconds": {"s", 1}, "day": {"s", 86400}, "days": {"s", 86400}, "tage": {"s", 86400}, "jours": {"s", 86400}, "dias": {"s", 86400}, "week": {"s", 604800}, "weeks": {"s", 604800}, "wochen": {"s", 604800}, "semaines": {"s", 604800}, "semanas": {"s", 604800},
	"year": {"years", 1}, "years": {"years", 1}, "jahre": {"years", 1}, "ans": {"years", 1}, "anos": {"years", 1},
	"$": {"USD", 1}, "dollar": {"USD", 1}, "dollars": {"USD", 1}, "usd": {"USD", 1}, "€": {"EUR", 1}, "euro": {"EUR", 1}, "euros": {"EUR", 1}, "eur": {"EUR", 1}, "£": {"GBP", 1}, "¥": {"JPY", 1}, "yen": {"JPY", 1},
	"°c": {"°C", 1}, "°f": {"°F", 1},
}

var numberScales = map[string]float64{
	"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "millions": 1e6, "bn": 1e9, "hundred": 100,
	"tausend": 1e3, "millionen": 1e6, "mio": 1e6, "milliarde": 1e9, "milliarden": 1e9, "mrd": 1e9, "mille": 1e3, "milliard": 1e9, "milliards": 1e9, "mil": 1e3, "millon": 1e6, "millones": 1e6,
}

var vagueWords = fieldSet(`about around approximately roughly nearly almost circa ca c some over under estimated approx than etwa rund ungefahr fast knapp uber circa environ presque pres quelque plus unos unas cerca casi aproximadamente alrededor mas`)

type numberMention struct {
	from, to  int // lexemes
	dimension string
	value     statementValue
}

// parseNumberAt reads the number at i with its bound and margin. A margin of another
// number is not ok.
func parseNumberAt(text string, line []lexeme, i int) (a numberMention, ok bool) {
	if line[i].kind != lexNumber || isMargin(line, i) {
		return a, false
	}
	a = parseBareNumber(line, i)
	a.readMargin(line)
	a.value.bound = boundBefore(line, a.from)
	a.value.text = text[line[boundPhraseStart(line, a.from)].start:line[a.to-1].end]
	return a, true
}

func parseBareNumber(line []lexeme, i int) (a numberMention) {
	x := line[i]
	a.from, a.to = i, i+1
	value, unit, scaled := x.value, x.unit, false
	if a.to < len(line) {
		if f, ok := numberScales[line[a.to].fold]; ok {
			value, unit, scaled = value*f, unit*f, true
			a.to++
			if a.to < len(line) && (line[a.to].fold == "de" || line[a.to].fold == "d") {
				a.to++
			}
		}
	}
	factor := 1.0
	if m, n := unitAt(line, a.to); n > 0 {
		a.dimension, factor, a.to = m.dimension, m.factor, a.to+n
	} else if i > 0 && line[i-1].kind == lexMark {
		if m, ok := measureUnits[line[i-1].fold]; ok {
			a.dimension, factor, a.from = m.dimension, m.factor, i-1
		}
	}
	a.value = statementValue{kind: numberValue, number: value * factor, slack: roundingError(line, a.from, value, unit, scaled) * factor}
	if a.dimension == "m" || a.dimension == "m2" || a.dimension == "kg" {
		a.value.factor = factor
		a.value.slack = max(a.value.slack, min(unit*factor, conversionSlack*math.Abs(a.value.number))) // it may be truncated
	}
	return a
}

func boundPhraseStart(line []lexeme, from int) int {
	for i := max(0, from-2); i < from; i++ {
		if i+matchAnyPhrase(line, i, lowerBounds) == from || i+matchAnyPhrase(line, i, upperBounds) == from || i == from-1 && vagueWords[line[i].fold] {
			return i
		}
	}
	return from
}

var (
	lowerBounds = parsePhrases(`over, more than, at least, mehr als, mindestens, uber, plus de, au moins, mas de, al menos`)
	upperBounds = parsePhrases(`under, less than, fewer than, at most, up to, weniger als, hochstens, bis zu, moins de, au plus, menos de, hasta`)
)

func boundBefore(line []lexeme, from int) int {
	for i := max(0, from-2); i < from; i++ {
		switch {
		case i+matchAnyPhrase(line, i, lowerBounds) == from:
			return 1
		case i+matchAnyPhrase(line, i, upperBounds) == from:
			return -1
		}
	}
	return 0
}

func unitAt(line []lexeme, i int) (m measureUnit, n int) {
	if hasFoldAt(line, i, "-") {
		i, n = i+1, 1
	}
	switch {
	case i >= len(line):
		return m, 0
	case hasFoldAt(line, i, "square", "sq", "quadrat") && i+1 < len(line):
		if base, ok := measureUnits[line[i+1].fold]; ok && base.dimension == "m" {
			return base.squareUnit(), n + 2
		}
	case hasFoldAt(line, i, "per", "pro", "por", "pour") && hasFoldAt(line, i+1, "cent", "ciento"):
		return measureUnits["%"], n + 2
	}
	m, more := measureUnits[line[i].fold].parseUnitSuffix(line, i+1)
	if more == 0 {
		return m, 0
	}
	return m, n + more
}

// parseUnitSuffix reads an exponent or denominator after base and returns the length of both;
// 0 without a unit.
func (base measureUnit) parseUnitSuffix(line []lexeme, i int) (m measureUnit, n int) {
	switch {
	case base.factor == 0:
		return base, 0
	case base.dimension == "m" && (hasFoldAt(line, i, "²") || hasFoldAt(line, i, "2") && line[i].start <= line[i-1].end+1):
		return base.squareUnit(), 2
	case hasFoldAt(line, i, "/") && i+1 < len(line): // per
		return measureUnit{base.dimension + "/" + line[i+1].fold, base.factor}, 3
	}
	return base, 1
}

func (m measureUnit) squareUnit() measureUnit {
	return measureUnit{m.dimension + "2", m.factor * m.factor}
}

// roundingError returns the rounding error of a number: half the last digit of decimals,
// scaled numbers and round hundreds. After a word such as "about" it is the whole
// digit. A share of the number bounds it.
func roundingError(line []lexeme, from int, value, unit float64, scaled bool) float64 {
	for k := max(0, from-3); k < from; k++ {
		if vagueWords[line[k].fold] {
			return min(unit, math.Abs(value)*0.1)
		}
	}
	switch {
	case scaled || unit < 1:
		return min(unit*0.5001, math.Abs(value)*0.05)
	case unit >= 100:
		return min(unit/2, math.Abs(value)*0.02)
	}
	return 0
}

var monthNumbers = map[string]int{
	"january": 1, "jan": 1, "januar": 1, "janvier": 1, "enero": 1, "february": 2, "feb": 2, "februar": 2, "fevrier": 2, "febrero": 2,
	"march": 3, "mar": 3, "marz": 3, "mars": 3, "marzo": 3, "april": 4, "apr": 4, "avril": 4, "abril": 4, "may": 5, "mai": 5, "mayo": 5,
	"june": 6, "jun": 6, "juni": 6, "juin": 6, "junio": 6, "july": 7, "jul": 7, "juli": 7, "juillet": 7, "julio": 7,
	"august": 8, "aug": 8, "aout": 8, "agosto": 8, "september": 9, "sep": 9, "sept": 9, "septembre": 9, "septiembre": 9,
	"october": 10, "oct": 10, "oktober": 10, "octobre": 10, "octubre": 10, "november": 11, "nov": 11, "novembre": 11, "noviembre": 11,
	"december": 12, "dec": 12, "dezember": 12, "decembre": 12, "diciembre": 12,
}

func monthNumber(fold string) int { return monthNumbers[fold] }

// parseDateAt reads a date at i and returns its length in lexemes: day, month and
// year in any order, month and year, or year.
func parseDateAt(text string, line []lexeme, i int) (v statementValue, n int) {
	x := line[i]
	switch year := lexemeYear(text, x); {
	case year > 0 && hasFoldAt(line, i+1, "-") && hasFoldAt(line, i+3, "-") && i+4 < len(line) && line[i+4].start == x.end+4:
		v.date, n = [3]int{year, int(line[i+2].value), int(line[i+4].value)}, 5
	case year > 0:
		v.date, n = [3]int{year}, 1
	case lexemeDay(x) > 0:
		v.date, n = parseDayFirst(text, line, i)
	case x.kind == lexWord && monthNumber(x.fold) > 0:
		v.date, n = parseMonthFirst(text, line, i)
	}
	v.kind = dateValue
	if n > 0 {
		v.text = text[x.start:line[i+n-1].end]
	}
	return v, n
}

// parseDayFirst reads 3 March 2024, 3. März 2024, 3 de marzo de 2024, also without the
// year.
func parseDayFirst(text string, line []lexeme, i int) (date [3]int, n int) {
	k := skipFolds(line, i+1, 2, ".", "de", "of")
	if k >= len(line) || monthNumber(line[k].fold) == 0 {
		return date, 0
	}
	date, n = [3]int{0, monthNumber(line[k].fold), lexemeDay(line[i])}, k+1-i
	if k = skipFolds(line, k+1, 2, "de", "del", ","); k < len(line) && lexemeYear(text, line[k]) > 0 {
		date[0], n = lexemeYear(text, line[k]), k+1-i
	}
	return date, n
}

func parseMonthFirst(text string, line []lexeme, i int) (date [3]int, n int) {
	m, k := monthNumber(line[i].fold), skipFolds(line, i+1, 1, ".", "de", "of")
	if k >= len(line) {
		return date, 0
	}
	if y := lexemeYear(text, line[k]); y > 0 {
		return [3]int{y, m}, k + 1 - i
	}
	d := lexemeDay(line[k])
	k = skipFolds(line, k+1, 1, ",")
	if d == 0 || k >= len(line) || lexemeYear(text, line[k]) == 0 {
		return date, 0
	}
	return [3]int{lexemeYear(text, line[k]), m, d}, k + 1 - i
}

func skipFolds(line []lexeme, i, most int, list ...string) int {
	for ; most > 0 && hasFoldAt(line, i, list...); most-- {
		i++
	}
	return i
}

func hasFoldAt(line []lexeme, i int, list ...string) bool {
	return i >= 0 && i < len(line) && slices.Contains(list, line[i].fold)
}

func isUpperAt(line []lexeme, i int) bool {
	return i >= 0 && i < len(line) && line[i].kind == lexWord && line[i].upper
}

func lexemeYear(text string, x lexeme) int {
	if x.kind != lexNumber || x.end-x.start != 4 || x.value < 1000 || x.value > 2100 || x.value != math.Trunc(x.value) {
		return 0
	}
	return int(x.value)
}

func lexemeDay(x lexeme) int {
	if x.kind != lexNumber || x.end-x.start > 2 || x.value < 1 || x.value > 31 {
		return 0
	}
	return int(x.value)
}
