package claim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A worth is the value of a statement: a number, a date, or words (a name, a place or
// a listed term).
type worth struct {
	kind   worthKind
	number float64 // in the base unit of its dimension
	factor float64 // base units per original unit
	slack  float64 // rounding error of a number; tolerance of a date in years
	bound  int     // 1: at least number; -1: at most
	date   [3]int  // year, month, day; zero if not given
	words  []string
	broad  []string // broader terms, such as football for rugby
	text   string   // as in the source
}

type worthKind uint8

const (
	numberWorth worthKind = iota
	dateWorth
	nameWorth
	placeWorth
	termWorth
)

// fits reports whether both values can be right: equal, rounded, or one less precise.
// It is symmetric.
func (v worth) fits(o worth) bool {
	switch max(v.kind, o.kind) { // place names may be read as names
	case numberWorth:
		if v.reaches(o) || o.reaches(v) {
			return true
		}
		return math.Abs(v.number-o.number) <= max(v.slack, o.slack, v.converted(o))+1e-9*max(math.Abs(v.number), math.Abs(o.number))
	case dateWorth:
		return datesFit(v, o)
	case nameWorth:
		return nameWithin(v.words, o.words) || nameWithin(o.words, v.words)
	case placeWorth:
		return placesFit(v, o)
	}
	return v.words[0] == o.words[0] || slices.Contains(v.broad, o.words[0]) || slices.Contains(o.broad, v.words[0])
}

// converted returns the tolerance for lengths, areas and weights given in different
// units.
func (v worth) converted(o worth) float64 {
	if v.factor == o.factor || v.factor == 0 || o.factor == 0 {
		return 0
	}
	return conversionSlack * max(math.Abs(v.number), math.Abs(o.number))
}

const conversionSlack = 0.006 // share of a number

// datesFit reports whether the parts given in both dates agree. Years may differ by
// the slack.
func datesFit(v, o worth) bool {
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

// reaches reports whether o satisfies the bound v, as 12,000 does "over 10,000". A
// factor above two suggests another subject.
func (v worth) reaches(o worth) bool {
	switch v.bound {
	case 1:
		return o.number >= v.number && o.number <= 2*v.number
	case -1:
		return o.number <= v.number && 2*o.number >= v.number
	}
	return false
}

func (v worth) finer(o worth) bool {
	if !v.fits(o) {
		return false
	}
	switch v.kind {
	case numberWorth:
		if (v.bound == 0) != (o.bound == 0) {
			return v.bound == 0
		}
		return v.slack < o.slack
	case dateWorth:
		return v.known() > o.known() || v.known() == o.known() && v.slack < o.slack
	case termWorth:
		return slices.Contains(v.broad, o.words[0])
	}
	return len(v.words) > len(o.words)
}

func (v worth) known() (n int) {
	for _, part := range v.date {
		if part != 0 {
			n++
		}
	}
	return n
}

func (v worth) key() string {
	switch v.kind {
	case numberWorth:
		return strconv.FormatFloat(v.number, 'g', 12, 64) + "~" + strconv.FormatFloat(v.slack, 'g', 6, 64) + strconv.Itoa(v.bound) + strconv.FormatFloat(v.factor, 'g', 6, 64)
	case dateWorth:
		return fmt.Sprint(v.date, v.slack)
	case termWorth:
		return v.words[0]
	}
	return strings.Join(v.words, " ")
}

// nameWithin reports whether long contains the words of short in order. An initial
// matches any word with that letter.
func nameWithin(short, long []string) bool {
	k := 0
	for _, w := range long {
		if k < len(short) && (short[k] == w || len(short[k]) == 1 && strings.HasPrefix(w, short[k])) {
			k++
		}
	}
	return k == len(short)
}

// placesFit reports whether two values can be one place. Places contain each other and
// no gazetteer is available. So places differ only if both name a containing place and
// share no word.
func placesFit(v, o worth) bool {
	for _, w := range v.words {
		if slices.Contains(o.words, w) {
			return true
		}
	}
	return !strings.Contains(v.text, ",") || !strings.Contains(o.text, ",")
}

// marginMarks precede the margin of a number, rangeMarks the end of a range.
var (
	marginMarks = cuePhrases(`±, + / -, plus or minus, plus minus, plus ou moins, mas o menos`)
	rangeMarks  = cuePhrases(`–, —, -, to, bis, a`)
)

// isMargin reports whether the number at i is the margin or range end of another
// number.
func isMargin(line []lexeme, i int) bool {
	for k := max(0, i-4); k < i; k++ {
		if line[k].kind != lexNumber {
			continue
		}
		for j := k + 1; j < i; j++ { // a unit may intervene
			if j+phraseAny(line, j, marginMarks) == i && (j == k+1 || isUnit(line, k+1, j)) {
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
	if i+2 >= len(line) || line[i+2].kind != lexNumber || line[i+2].value <= line[i].value || phraseAny(line, i+1, rangeMarks) != 1 {
		return false
	}
	return line[i].value < 1000 || line[i].value > 2100 || line[i].end-line[i].start != 4
}

// margin reads a following margin or range end. A range becomes its middle; a unit
// after both applies to both.
func (a *statedNumber) margin(line []lexeme) {
	i := a.from
	for line[i].kind != lexNumber {
		i++
	}
	if isRange(line, i) && a.to == i+1 {
		if high, ok := a.upTo(line, i+2); ok {
			low := a.worth.number
			a.worth.number = (low + high) / 2
			a.worth.slack = max(a.worth.slack, (high-low)/2)
		}
		return
	}
	n := phraseAny(line, a.to, marginMarks)
	if n == 0 || a.to+n >= len(line) {
		return
	}
	own := a.dimension
	if off, ok := a.upTo(line, a.to+n); ok {
		if own != a.dimension && a.dimension == "%" {
			off, a.dimension = off/100*math.Abs(a.worth.number), own
		}
		a.worth.slack = max(a.worth.slack, math.Abs(off))
	}
}

// upTo reads the number at k as the second part of a. It lends a its unit and scale if
// a has none.
func (a *statedNumber) upTo(line []lexeme, k int) (value float64, ok bool) {
	if line[k].kind != lexNumber {
		return 0, false
	}
	rest := bareNumberAt(line, k)
	if a.dimension == "" && line[k].value > 0 {
		scale := rest.worth.number / line[k].value
		if rest.dimension != "%" {
			a.worth.number, a.worth.slack = a.worth.number*scale, a.worth.slack*scale
		}
		a.dimension, a.worth.factor = rest.dimension, rest.worth.factor
	}
	a.to = rest.to
	return rest.worth.number, true
}
