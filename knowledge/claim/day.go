package claim

import (
	"strings"

	"ponder/internal/textkit/lexical"
)

// A day is a date of a text, with zero for what it does not say.
type day struct {
	span
	year, month, day int
	decade           bool   // the ten years from year on
	text             string // as it stands
}

// borne reports whether o, a date of a source, bears d out: it says all that d does.
func (d day) borne(o day) bool {
	if d.decade {
		return d.year > 0 && o.year/10 == d.year/10
	}
	return (d.year == 0 || d.year == o.year && !o.decade) && (d.month == 0 || d.month == o.month) && (d.day == 0 || d.day == o.day)
}

// against reports whether o says another date than d of what both say.
func (d day) against(o day) bool {
	return d.year > 0 && o.year > 0 && d.year != o.year && !d.decade && !o.decade || d.month > 0 && o.month > 0 && d.month != o.month ||
		d.day > 0 && o.day > 0 && d.day != o.day && (d.month == o.month || d.month == 0 || o.month == 0)
}

// said returns how many parts of a date are said.
func (d day) said() (n int) {
	for _, part := range []int{d.year, d.month, d.day} {
		if part > 0 {
			n++
		}
	}
	return n
}

var monthNames = func() map[string]int {
	all := make(map[string]int)
	for _, list := range []string{
		"january february march april may june july august september october november december",
		"jan feb mar apr - jun jul aug sep oct nov dec", "- - - - - - - - sept - - -",
		"januar februar marz april mai juni juli august september oktober november dezember", "janner - - - - - - - - okt - dez",
		"janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
	} {
		for i, w := range strings.Fields(list) {
			if w != "-" {
				all[w] = i + 1
			}
		}
	}
	return all
}()

// monthNamed returns the month of a word, from 1, or 0.
func monthNamed(word string) int { return monthNames[lexical.Fold(word)] }

// yearLike reports whether a plain number of four digits is a year.
func yearLike(v float64, digits int) bool { return digits == 4 && v >= 1000 && v < 2100 }

// isoDay reads a date in digits, as 2019-05-03, 03.05.2019 or 2019/5/3, that a text
// begins with.
func isoDay(s string) (d day, n int) {
	var parts [3]int
	var lens [3]int
	var sep byte
	at := 0
	for i := range parts {
		start := at
		for at < len(s) && s[at] >= '0' && s[at] <= '9' && at-start < 5 {
			parts[i] = parts[i]*10 + int(s[at]-'0')
			at++
		}
		lens[i] = at - start
		if lens[i] == 0 || lens[i] > 4 {
			return d, 0
		}
		if i == 2 {
			break
		}
		if at >= len(s) || s[at] != '-' && s[at] != '.' && s[at] != '/' || sep != 0 && s[at] != sep {
			return d, 0
		}
		sep = s[at]
		at++
	}
	switch {
	case lens[0] == 4 && lens[1] <= 2 && lens[2] <= 2:
		d.year, d.month, d.day = parts[0], parts[1], parts[2]
	case lens[2] == 4 && lens[0] <= 2 && lens[1] <= 2 && sep == '/' && parts[1] > 12:
		d.month, d.day, d.year = parts[0], parts[1], parts[2]
	case lens[2] == 4 && lens[0] <= 2 && lens[1] <= 2 && (sep == '.' || parts[0] > 12):
		d.day, d.month, d.year = parts[0], parts[1], parts[2]
	case lens[2] == 4 && sep == '/': // either order: only the year is sure
		d.year = parts[2]
	default:
		return d, 0
	}
	if d.month > 12 || d.day > 31 {
		return d, 0
	}
	return d, at
}
