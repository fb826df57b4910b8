package claim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A statementValue is the value of a statement: a number, a date, or words (a name, a place or
// a listed term).
type statementValue struct {
	kind   valueKind
	number float64 // in the base unit of its dimension
	factor float64 // base units per original unit
	slack  float64 // rounding error of a number; tolerance of a date in years
	bound  int     // 1: at least number; -1: at most
	date   [3]int  // year, month, day; zero if not given
	words  []string
	broad  []string // broader terms, such as football for rugby
	text   string   // as in the source
}

type valueKind uint8

const (
	numberValue valueKind = iota
	dateValue
	nameValue
	placeValue
	termValue
)

// isCompatible reports whether both values can be right: equal, rounded, or one less precise.
// It is symmetric.
func (v statementValue) isCompatible(o statementValue) bool {
	switch max(v.kind, o.kind) { // place names may be read as names
	case numberValue:
		if v.satisfiesBound(o) || o.satisfiesBound(v) {
			return true
		}
		return math.Abs(v.number-o.number) <= max(v.slack, o.slack, v.conversionTolerance(o))+1e-9*max(math.Abs(v.number), math.Abs(o.number))
	case dateValue:
		return areDatesCompatible(v, o)
	case nameValue:
		return isNameWithin(v.words, o.words) || isNameWithin(o.words, v.words)
	case placeValue:
		return arePlacesCompatible(v, o)
	}
	return v.words[0] == o.words[0] || slices.Contains(v.broad, o.words[0]) || slices.Contains(o.broad, v.words[0])
}

// conversionTolerance returns the tolerance for lengths, areas and weights given in different
// units.
func (v statementValue) conversionTolerance(o statementValue) float64 {
	if v.factor == o.factor || v.factor == 0 || o.factor == 0 {
		return 0
	}
	return conversionSlack * max(math.Abs(v.number), math.Abs(o.number))
}

const conversionSlack = 0.006 // share of a number

// areDatesCompatible reports whether the parts given in both dates agree. Years may differ by
// the slack.
func areDatesCompatible(v, o statementValue) bool {
	if years := math.Abs(float64(v.date[0] - o.date[0])); years > 0 && years <= max(v.slack, o.slack) {
		return true
	}
	for i := range v.date {
		if v.date[i] != 0 && o.date[i] != 0 && v.date[i] != o.date[i] {
			return false
		}
	}
	return true
}

// satisfiesBound reports whether o satisfies the bound v, as 12,000 does "over 10,000". A
// factor above two suggests another subject.
func (v statementValue) satisfiesBound(o statementValue) bool {
	switch v.bound {
	case 1:
		return o.number >= v.number && o.number <= 2*v.number
	case -1:
		return o.number <= v.number && 2*o.number >= v.number
	}
	return false
}

func (v statementValue) isMorePrecise(o statementValue) bool {
	if !v.isCompatible(o) {
		return false
	}
	switch v.kind {
	case numberValue:
		if (v.bound == 0) != (o.bound == 0) {
			return v.bound == 0
		}
		return v.slack < o.slack
	case dateValue:
		return v.countDateParts() > o.countDateParts() || v.countDateParts() == o.countDateParts() && v.slack < o.slack
	case termValue:
		return slices.Contains(v.broad, o.words[0])
	}
	return len(v.words) > len(o.words)
}

func (v statementValue) countDateParts() (n int) {
	for _, part := range v.date {
		if part != 0 {
			n++
		}
	}
	return n
}

func (v statementValue) valueKey() string {
	switch v.kind {
	case numberValue:
		return strconv.FormatFloat(v.number, 'g', 12, 64) + "~" + strconv.FormatFloat(v.slack, 'g', 6, 64) + strconv.Itoa(v.bound) + strconv.FormatFloat(v.factor, 'g', 6, 64)
	case dateValue:
		return fmt.Sprint(v.date, v.slack)
	case termValue:
		return v.words[0]
	}
	return strings.Join(v.words, " ")
}

// isNameWithin reports whether long contains the words of short in order. An initial
// matches any word with that letter.
func isNameWithin(short, long []string) bool {
	k := 0
	for _, w := range long {
		if k < len(short) && (short[k] == w || len(short[k]) == 1 && strings.HasPrefix(w, short[k])) {
			k++
		}
	}
	return k == len(short)
}

// arePlacesCompatible reports whether two values can be one place. Places contain each other and
// no gazetteer is available. So places differ only if both name a containing place and
// share no word.
func arePlacesCompatible(v, o statementValue) bool {
	for _, w := range v.words {
		if slices.Contains(o.words, w) {
			return true
		}
	}
	return !strings.Contains(v.text, ",") || !strings.Contains(o.text, ",")
}

// marginMarks precede the margin of a number, rangeMarks the end of a range.
var (
	marginMarks = parsePhrases(`±, + / -, plus or minus, plus minus, plus ou moins, mas o menos`)
	rangeMarks  = parsePhrases(`–, —, -, to, bis, a`)
)

// isMargin reports whether the number at i is the margin or range end of another
// number.
func isMargin(line []lexeme, i int) bool {
	for k := max(0, i-4); k < i; k++ {
		if line[k].kind != lexNumber {
			continue
		}
		for j := k + 1; j < i; j++ { // a unit may intervene
			if j+matchAnyPhrase(line, j, marginMarks) == i && (j == k+1 || isUnit(line, k+1, j)) {
				return true
			}
		}
		if k+2 == i && isRange(line, k) {
			return true
		}
	}
	return false
}

func isUnit(line []lexeme, from, to int) bool {
	_, n := unitAt(line, from)
	return n > 0 && from+n == to
}

// isRange reports whether the number at i starts a range. Two years are no range.
func isRange(line []lexeme, i int) bool {
	if i+2 >= len(line) || line[i+2].kind != lexNumber || line[i+2].value <= line[i].value || matchAnyPhrase(line, i+1, rangeMarks) != 1 {
		return false
	}
	return line[i].value < 1000 || line[i].value > 2100 || line[i].end-line[i].start != 4
}

// readMargin reads a following margin or range end. A range becomes its middle; a unit
// after both applies to both.
func (a *numberMention) readMargin(line []lexeme) {
	i := a.from
	for line[i].kind != lexNumber {
		i++
	}
	if isRange(line, i) && a.to == i+1 {
		if high, ok := a.readRangeEnd(line, i+2); ok {
			low := a.value.number
			a.value.number = (low + high) / 2
			a.value.slack = max(a.value.slack, (high-low)/2)
		}
		return
	}
	n := matchAnyPhrase(line, a.to, marginMarks)
	if n == 0 || a.to+n >= len(line) {
		return
	}
	own := a.dimension
	if off, ok := a.readRangeEnd(line, a.to+n); ok {
		if own != a.dimension && a.dimension == "%" {
			off, a.dimension = off/100*math.Abs(a.value.number), own
		}
		a.value.slack = max(a.value.slack, math.Abs(off))
	}
}

// readRangeEnd reads the number at k as the second part of a. It lends a its unit and scale if
// a has none.
func (a *numberMention) readRangeEnd(line []lexeme, k int) (value float64, ok bool) {
	if line[k].kind != lexNumber {
		return 0, false
	}
	rest := parseBareNumber(line, k)
	if a.dimension == "" && line[k].value > 0 {
		scale := rest.value.number / line[k].value
		if rest.dimension != "%" {
			a.value.number, a.value.slack = a.value.number*scale, a.value.slack*scale
		}
		a.dimension, a.value.factor = rest.dimension, rest.value.factor
	}
	a.to = rest.to
	return rest.value.number, true
}
