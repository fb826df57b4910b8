package claim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A worth is what a statement says of an attribute: one of a number, a date, or words
// (a name, a place, or a term of a closed list).
type worth struct {
	kind   worthKind
	number float64 // in the base of its dimension
	factor float64 // of a number, the worth of the unit that it was said in
	slack  float64 // how far off a number may be that was rounded to it; of a date, how many years
	bound  int     // 1: a number is at least so much; -1: at most
	date   [3]int  // year, month, day; zero where it is not said
	words  []string
	broad  []string // of a term: what it is a kind of, such as football of rugby
	text   string   // as it stands in the source
}

type worthKind uint8

const (
	numberWorth worthKind = iota
	dateWorth
	nameWorth
	placeWorth
	termWorth
)

// fits reports whether two values can both be right: they are equal, one is rounded, or
// one says less than the other. It is symmetric.
func (v worth) fits(o worth) bool {
	switch max(v.kind, o.kind) { // names of places may be read as names
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

// converted returns how far lengths, areas and weights may be off of which one was
// converted from another unit.
func (v worth) converted(o worth) float64 {
	if v.factor == o.factor || v.factor == 0 || o.factor == 0 {
		return 0
	}
	return conversionSlack * max(math.Abs(v.number), math.Abs(o.number))
}

const conversionSlack = 0.006 // share of a number

// datesFit reports whether what is said of both dates is the same, but for years that are
// about right.
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

// reaches reports whether v is a bound that o is within, as "over 10,000" and 12,000 are:
// a bound of less than half or more than double is said of something else.
func (v worth) reaches(o worth) bool {
	switch v.bound {
	case 1:
		return o.number >= v.number && o.number <= 2*v.number
	case -1:
		return o.number <= v.number && 2*o.number >= v.number
	}
	return false
}

// finer reports whether v says more than o, which it fits.
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

// key is the same for values that are equal.
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

// nameWithin reports whether the words of a name are among those of another, in their
// order. A letter stands for a word that begins with it.
func nameWithin(short, long []string) bool {
	k := 0
	for _, w := range long {
		if k < len(short) && (short[k] == w || len(short[k]) == 1 && strings.HasPrefix(w, short[k])) {
			k++
		}
	}
	return k == len(short)
}

// placesFit reports whether places can be one: places lie in each other, and no
// gazetteer tells which, so only such differ that are both said with what they lie in
// and have no word in common.
func placesFit(v, o worth) bool {
	for _, w := range v.words {
		if slices.Contains(o.words, w) {
			return true
		}
	}
	return !strings.Contains(v.text, ",") || !strings.Contains(o.text, ",")
}

// The words and marks between a number and how far it may be off, and between the ends
// of a range.
var (
	marginMarks = cuePhrases(`±, + / -, plus or minus, plus minus, plus ou moins, mas o menos`)
	rangeMarks  = cuePhrases(`–, —, -, to, bis, a`)
)

// isMargin reports whether the number at i stands behind such a word, and so says
// nothing alone.
func isMargin(line []lexeme, i int) bool {
	for k := max(0, i-4); k < i; k++ {
		if line[k].kind != lexNumber {
			continue
		}
		for j := k + 1; j < i; j++ { // a unit may stand between
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

// isRange reports whether the number at i is the least of a range. Two years are none.
func isRange(line []lexeme, i int) bool {
	if i+2 >= len(line) || line[i+2].kind != lexNumber || line[i+2].value <= line[i].value || phraseAny(line, i+1, rangeMarks) != 1 {
		return false
	}
	return line[i].value < 1000 || line[i].value > 2100 || line[i].end-line[i].start != 4
}

// margin takes in what stands behind a number: how far it may be off, or the other end of
// a range, which is taken as its middle. A unit behind both is that of both.
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

// upTo reads the number at k as the other part of a, and gives a its unit and scale if it
// has none.
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
