package claim

import "math"

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
