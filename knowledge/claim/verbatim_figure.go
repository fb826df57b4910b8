package claim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ponder/internal/textkit/lexical"
)

// hasFigure reports whether the quotes have a figure. A rounder figure does not support an
// exact one.
func (l *verbatim) hasFigure(f figure) bool {
	if f.unit == "share" && slices.ContainsFunc(l.parts, f.isMultipleOf) {
		return true
	}
	m := f.toBaseUnit()
	for i := range l.readings {
		for _, g := range l.readings[i].figures {
			if f.isGivenBy(g) || (m.unit == "time" || m.unit == "length") && m.isGivenBy(g.toBaseUnit()) || f.isSpelledLike(g) {
				return true
			}
		}
		for _, d := range l.readings[i].days {
			if f.matchesDate(d) {
				return true
			}
		}
	}
	return false
}

// isGivenBy reports whether f equals source figure g, or rounds it.
func (f figure) isGivenBy(g figure) bool {
	fit := f.compareWith(g)
	return fit > nearFit || fit == nearFit && f.step >= g.step*(1-1e-9)
}

// isSpelledLike reports whether f and source figure g have equal numbers and possibly equal
// units or scales: one is missing, or was read differently.
func (f figure) isSpelledLike(g figure) bool {
	if f.unit != g.unit && (f.unit == "" || g.unit == "") && isEqual(f.valueInUnit(), g.valueInUnit()) {
		return true
	}
	if !isEqual(f.writtenNumber(), g.writtenNumber()) {
		return false
	}
	switch {
	case f.unit == g.unit:
		return (f.unit == "" || currencies[f.unit]) && g.isBare() || f.unit == "" && f.isBare()
	case f.unit == "":
		return f.isBare()
	case g.unit == "":
		return g.isBare()
	}
	return confusableUnits[f.unit] == g.unit || confusableUnits[g.unit] == f.unit
}

func (f figure) valueInUnit() float64 {
	if f.size > 0 {
		return f.value / f.size
	}
	return f.value
}

func (f figure) isBare() bool { return isEqual(f.value, f.writtenNumber()) }

var currencies = fieldSet("dollar euro yen franc")

var confusableUnits = map[string]string{"pound sterling": "mass", "percentage point": "share", "length": "area"}

// matchesDate reports whether source date d has, or may have, the number f.
func (f figure) matchesDate(d day) bool {
	year := float64(d.year)
	switch {
	case d.year > 0 && (f.value == year || f.writtenNumber() == year):
		return true
	case len(f.text) == 3 && f.text[2] == 's': // 90s
		return d.year > 0 && d.year/10%10 == int(f.value)/10
	}
	return f.unit == "" && (f.value == float64(d.month) || f.value == float64(d.day))
}

// isMultipleOf reports whether a share is a multiple of a named part, as 67 % is of thirds.
// Wholes double and triple, parts stay below one.
func (f figure) isMultipleOf(part float64) bool {
	n := 0.0
	if part > 0 {
		n = math.Round(f.value / part)
	}
	if math.Abs(f.value-n*part) > max(0.005, f.step/2)*(1+1e-9) {
		return false
	}
	return part == 0 || n > 0 && (part < 1 && f.value < 1 || part == 1 && n <= 3)
}

var timeUnits = func() map[string]float64 {
	all := make(map[string]float64)
	for size, names := range map[float64]string{
		1: "second seconds sekunden segundos secondes", 60: "minute minutes minuten minutos", 3600: "hour hours stunde stunden heure heures hora horas",
		86400: "day days tag tage tagen jour jours dia dias", 604800: "week weeks woche wochen semaine semaines semana semanas",
		31557600: "year years jahr jahre jahren ans annees anos", 315576000: "decade decades jahrzehnt jahrzehnte jahrzehnten", 3155760000: "century centuries jahrhundert jahrhunderte",
	} {
		for n := range strings.FieldsSeq(names) {
			all[n] = size
		}
	}
	return all
}()

// toBaseUnit converts a figure to a common unit: seconds for times, metres for a
// trailing m read as million.
func (f figure) toBaseUnit() figure {
	size, unit := timeUnits[f.noun], "time"
	if f.unit == "" && strings.HasSuffix(f.text, "m") {
		size, unit = 1e-6, "length"
	}
	if f.unit == "" && size > 0 {
		f.value, f.step, f.unit = f.value*size, f.step*size, unit
	}
	return f
}

func isEqual(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// hasDate reports whether the quotes have the year of a date, if only in two digits. If
// they give months or days of that year, one must match.
func (l *verbatim) hasDate(d day) bool {
	year := strconv.Itoa(d.year)
	if d.decade {
		return strings.Contains(l.text, year[:len(year)-1]) || strings.Contains(l.text, year[2:]+"s")
	}
	if !strings.Contains(l.text, year) && !l.hasFigure(figure{value: float64(d.year % 100), text: year[2:]}) {
		return false
	}
	var months, days, month, day bool // any exist; the wanted one exists
	for i := range l.readings {
		for _, e := range l.readings[i].days {
			if e.year > 0 && e.year != d.year {
				continue
			}
			month = month || e.month == d.month || strings.Contains(e.text, "/") // in either order
			months = months || e.month > 0 && e.year > 0
			if e.month == d.month {
				days, day = days || e.day > 0, day || e.day == d.day
			}
		}
	}
	if d.month == 0 || !months {
		return true
	}
	return month && (d.day == 0 || !days || day || l.hasFigure(figure{value: float64(d.day), text: strconv.Itoa(d.day)}))
}

func (f figure) writtenNumber() float64 {
	i := strings.IndexFunc(f.text, unicode.IsDigit)
	if i < 0 {
		return f.value
	}
	value, _, _, ok := parseDigits(f.text, i)
	if !ok {
		return f.value
	}
	return value
}

// replaceNumerals replaces multi-word numbers by digits: "one hundred and twenty thousand".
func replaceNumerals(text string) string {
	var b strings.Builder
	sum, part, n, from, to, copied, last := 0.0, 0.0, 0, 0, 0, 0, 0
	digits := false // before the word
	end := func() {
		if n > 1 || sum+part >= 100 {
			b.WriteString(text[copied:from] + strconv.FormatFloat(sum+part, 'f', -1, 64))
			copied = to
		}
		sum, part, n = 0, 0, 0
	}
	lexical.Tokens(text, func(t lexical.Token) {
		w := lexical.Fold(text[t.Start:t.End])
		if strings.ContainsAny(text[min(last, t.Start):t.Start], ".,;:()") {
			end()
		}
		last = max(last, t.End)
		v, is := numerals[w]
		s := scaleWords[w]
		was := n
		switch {
		case n == 0 && digits: // 2.4 million
		case w == "one" || w == "ein" || w == "eine":
			part, n = part+1, n+1
		case is && !isOrdinal(w):
			part, n = part+v, n+1
		case s == 100 && len(w) > 3:
			part, n = max(1, part)*s, n+1
		case s > 100 && len(w) > 3:
			sum, part, n = sum+max(1, part)*s, 0, n+1
		case n > 0 && (w == "and" || w == "und"):
		default:
			end()
		}
		if n > was {
			if was == 0 {
				from = t.Start
			}
			to = t.End
		}
		digits = strings.ContainsFunc(w, unicode.IsDigit)
	})
	end()
	return b.String() + text[copied:]
}

// shareWords maps words for parts and multiples, which texts also write as shares, to
// their minimum value.
var shareWords = func() map[string]float64 {
	all := make(map[string]float64)
	for part, names := range map[float64]string{
		0: "none keine aucun ninguno", 1: "all every double doubled doubles doubling twice triple tripled thrice alle doppelt verdoppelt verdoppelte tous toutes doble todos todas",
		1.0 / 2: "half halves halved halfte halb halbe halben moitie demi mitad", 1.0 / 3: "third thirds drittel tiers tercio", 1.0 / 4: "quarter quarters viertel quart cuarto",
		1.0 / 5: "fifth fifths funftel cinquieme quinto", 1.0 / 6: "sixth sixths", 1.0 / 7: "seventh sevenths", 1.0 / 8: "eighth eighths", 1.0 / 9: "ninth ninths", 1.0 / 10: "tenth tenths zehntel dixieme decimo",
	} {
		for n := range strings.FieldsSeq(names) {
			all[n] = part
		}
	}
	return all
}()
