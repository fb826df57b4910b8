package claim

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// readAmount reads a number in digits or words at atom i, with its scale and unit. It
// returns its length in atoms, or 0.
func (r *reader) readAmount(i int) int {
	a := &r.atoms[i]
	f := figure{value: a.value, step: a.step}
	n := 1
	switch {
	case a.number && a.order:
		f.unit = "place"
	case a.number:
	case isNumeral(a.fold):
		f.value, n = r.spelledNumber(i)
		f.step = min(1, f.value)
		if isOrdinal(r.atoms[i+n-1].fold) {
			f.unit = "place"
		}
	default:
		return 0
	}
	if s := r.currencySymbol(i); s != "" {
		f.unit = unitTable[s].dimension
	}
	if a.suffix != "" {
		f.applyUnit(a.suffix)
	}
	for f.unit != "place" && i+n < len(r.atoms) && !r.atoms[i+n].comma && f.applyUnit(r.atoms[i+n].fold) {
		n++
	}
	if k := r.percentagePointAtoms(i+n, f); k > 0 {
		f.unit = "percentage point"
		n += k
	}
	end := r.readUnitSign(r.atoms[i+n-1].end, &f)
	for k := i - 1; k >= 0 && k >= i-2 && f.precision == exact; k-- {
		f.precision = precisionWords[r.atoms[k].fold]
	}
	if f.noun = r.countedNoun(i + n); f.noun == "" {
		f.noun = r.numberedBy(i - 1)
	}
	start := a.start - len(r.currencySymbol(i))
	f.text = collapseSpaces(r.text[start:end])
	f.span = span{r.base + start, r.base + end}
	r.out.figures = append(r.out.figures, f)
	return n
}

func (f *figure) applyUnit(word string) bool {
	if u, ok := unitTable[word]; ok && (f.unit == "" || f.unit == u.dimension) {
		f.value, f.step, f.unit, f.size = f.value*u.size, f.step*u.size, u.dimension, u.size
		return true
	}
	if s := scaleWords[word]; s > 0 && len(word) > 0 {
		f.value, f.step = f.value*s, f.step*s
		return true
	}
	return false
}

func (r *reader) readUnitSign(at int, f *figure) int {
	rest := strings.TrimLeft(r.text[at:], " \u00a0\u202f")
	for _, s := range []string{"%", "％", "€", "$", "£", "°C"} {
		if strings.HasPrefix(rest, s) && f.unit == "" {
			f.applyUnit(lexical.Fold(s))
			return len(r.text) - len(rest) + len(s)
		}
	}
	if strings.HasPrefix(rest, "per cent") && f.unit == "" {
		f.applyUnit("%")
		return len(r.text) - len(rest) + len("per cent")
	}
	return at
}

func (r *reader) currencySymbol(i int) string {
	before := r.text[:r.atoms[i].start]
	c, _ := utf8.DecodeLastRuneInString(before)
	switch c {
	case '$', '€', '£', '¥':
		return string(c)
	}
	return ""
}

func isNumeral(word string) bool { _, ok := numerals[word]; return ok }

func (r *reader) spelledNumber(i int) (float64, int) {
	v := numerals[r.atoms[i].fold]
	if v >= 20 && i+1 < len(r.atoms) {
		if u, ok := numerals[r.atoms[i+1].fold]; ok && u < 10 && u > 0 && !r.atoms[i+1].comma {
			return v + u, 2
		}
	}
	return v, 1
}

func (r *reader) countedNoun(i int) string {
	for k := i; k < len(r.atoms) && k < i+3; k++ {
		a := &r.atoms[k]
		if a.comma && k > i || a.number {
			return ""
		}
		if lexical.Stop(a.fold, r.lang) || a.upper && r.lang != "de" {
			if k == i {
				return ""
			}
			continue
		}
		if k+1 < len(r.atoms) && k+1 < i+3 {
			next := &r.atoms[k+1]
			if !next.comma && !next.number && !lexical.Stop(next.fold, r.lang) && !next.upper && strings.HasSuffix(next.fold, "s") {
				continue // an adjective precedes the noun
			}
		}
		return lexical.Stem(a.fold, r.lang)
	}
	return ""
}

// numberedBy returns the stem of the noun at atom i that the next number numbers, as
// in "part 2".
func (r *reader) numberedBy(i int) string {
	if i < 0 || r.atoms[i+1].comma {
		return ""
	}
	a := &r.atoms[i]
	if a.number || lexical.Stop(a.fold, r.lang) || precisionWords[a.fold] != exact || negations[a.fold] {
		return ""
	}
	return lexical.Stem(a.fold, r.lang)
}

// percentagePointAtoms returns the number of atoms at i that turn a share into percentage points, or
// 0.
func (r *reader) percentagePointAtoms(i int, f figure) int {
	at := func(k int) string {
		if k < len(r.atoms) && !r.atoms[k].comma {
			return r.atoms[k].fold
		}
		return ""
	}
	switch {
	case f.unit == "share" && (at(i) == "point" || at(i) == "points"):
		return 1
	case f.unit == "" && (at(i) == "prozentpunkt" || at(i) == "prozentpunkte" || at(i) == "prozentpunkten"):
		return 1
	case f.unit == "" && (at(i) == "point" || at(i) == "points") && at(i+1) == "de" && at(i+2) == "pourcentage":
		return 3
	case f.unit == "" && (at(i) == "punto" || at(i) == "puntos") && (at(i+1) == "porcentual" || at(i+1) == "porcentuales"):
		return 2
	}
	return 0
}

func (v *view) findFigure(f figure, w *window, far int) (best figure, ok fitLevel) {
	own := &v.units[w.unit]
	v.eachNearbyUnit(w, far, func(u *unit) bool {
		for _, g := range u.figures {
			if k := f.compareWith(g); k > ok && (u == own && !w.second || f.mayShareSubject(g)) {
				best, ok = g, k
			}
		}
		if f.unit == "" && ok < equalFit {
			for _, d := range u.days {
				if float64(d.year) == f.value {
					best, ok = figure{span: d.span, value: f.value}, equalFit
				}
			}
		}
		return ok < equalFit
	})
	return best, ok
}

// distinctiveCount is the count from which equality is no accident.
const distinctiveCount = 100

// mayShareSubject reports whether equal figures may have one subject: they have a unit, are
// large, or count the same noun.
func (f figure) mayShareSubject(g figure) bool {
	return f.unit != "" || f.value >= distinctiveCount || f.noun == "" || f.noun == g.noun
}

func (v *view) findDay(d day, w *window, far int) (best day, ok bool) {
	v.eachNearbyUnit(w, far, func(u *unit) bool {
		for _, e := range u.days {
			if d.isSupportedBy(e) {
				best, ok = e, true
				return false
			}
		}
		if d.countParts() == 1 && d.year > 0 {
			for _, f := range u.figures {
				if f.unit == "" && f.value == float64(d.year) {
					best, ok = day{span: f.span, year: d.year}, true
					return false
				}
			}
		}
		return true
	})
	return best, ok
}

// hasDateParts reports whether a date has support in parts: day and month near the window,
// the year there, in the context or as publication date.
func (v *view) hasDateParts(d day, w *window, far int) bool {
	if d.decade {
		return false
	}
	year, rest := d.year == 0, d.month == 0 && d.day == 0
	s := &v.quotes[v.units[w.unit].quote]
	look := func(e day) {
		year = year || e.year == d.year
		rest = rest || (d.month == 0 || e.month == d.month) && (d.day == 0 || e.day == d.day) && (e.year == 0 || d.year == 0 || e.year == d.year)
	}
	v.eachNearbyUnit(w, far, func(u *unit) bool {
		for _, e := range u.days {
			if e.month == 0 || e.month == d.month { // not the year of another day
				look(e)
			}
		}
		return !year || !rest
	})
	for _, e := range s.context.days {
		look(e)
	}
	return rest && (year || !s.Published.IsZero() && s.Published.Year() == d.year)
}

// competingFigure returns a figure of the window's sentence in the place of f: of its unit
// and noun, and not claimed.
func (v *view) competingFigure(f figure, w *window) (figure, bool) {
	var found []figure
	for _, g := range v.units[w.unit].figures {
		if g.unit != f.unit || v.isClaimed(g) {
			continue
		}
		if f.unit != "" && f.unit != "place" || f.noun != "" && f.noun == g.noun {
			found = append(found, g)
		}
	}
	if len(found) != 1 {
		return figure{}, false
	}
	return found[0], true
}

func (v *view) isClaimed(g figure) bool {
	return slices.ContainsFunc(v.figures, func(f figure) bool { return f.compareWith(g) >= nearFit })
}

func (v *view) competingDay(d day, w *window) (day, bool) {
	var found []day
	for _, e := range v.units[w.unit].days {
		taken := false
		for _, o := range v.days {
			taken = taken || o.isSupportedBy(e) || o.span != d.span && !o.contradicts(e)
		}
		if !taken && d.contradicts(e) && (d.month > 0) == (e.month > 0) && (d.month > 0 || (d.year > 0) == (e.year > 0)) {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		return day{}, false
	}
	return found[0], true
}

func isNear(a, b figure) bool {
	return math.Abs(a.value-b.value) <= 0.1*max(math.Abs(a.value), math.Abs(b.value)) && (a.step > 1 || b.step > 1 || a.precision != exact || b.precision != exact)
}
