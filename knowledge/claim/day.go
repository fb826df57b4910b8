package claim

import (
	"strings"

	"ponder/internal/textkit/lexical"
)

// A day is a date; unknown parts are zero.
type day struct {
	span
	year, month, day int
	decade           bool   // the ten years from year
	text             string // as in the text
}

func (d day) isSupportedBy(o day) bool {
	if d.decade {
		return d.year > 0 && o.year/10 == d.year/10
	}
	return (d.year == 0 || d.year == o.year && !o.decade) && (d.month == 0 || d.month == o.month) && (d.day == 0 || d.day == o.day)
}

func (d day) contradicts(o day) bool {
	return d.year > 0 && o.year > 0 && d.year != o.year && !d.decade && !o.decade || d.month > 0 && o.month > 0 && d.month != o.month ||
		d.day > 0 && o.day > 0 && d.day != o.day && (d.month == o.month || d.month == 0 || o.month == 0)
}

func (d day) countParts() (n int) {
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

func monthNamed(word string) int { return monthNames[lexical.Fold(word)] }

func yearLike(v float64, digits int) bool { return digits == 4 && v >= 1000 && v < 2100 }

// parseNumericDate reads a numeric date at the start of s: 2019-05-03, 03.05.2019 or 2019/5/3.
func parseNumericDate(s string) (d day, n int) {
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
	case lens[2] == 4 && sep == '/': // ambiguous order: only the year is certain
		d.year = parts[2]
	default:
		return d, 0
	}
	if d.month > 12 || d.day > 31 {
		return d, 0
	}
	return d, at
}

// readDate reads a date in words, or a year, at atom i. It returns its length in
// atoms, or 0.
func (r *reader) readDate(i int) int {
	a := &r.atoms[i]
	if a.number {
		if d, n := r.readDayFirst(i); n > 0 {
			r.addDay(i, i+n-1, d)
			return n
		}
		if d, n := r.readEasternDate(i); n > 0 {
			r.addDay(i, i+n-1, d)
			return n
		}
		if d, ok := r.yearAt(i); ok {
			r.addDay(i, i, d)
			return 1
		}
		return 0
	}
	m := r.monthAt(i)
	if m == 0 {
		return 0
	}
	d, n := day{month: m}, 1
	if i+1 < len(r.atoms) && r.isDay(i+1) {
		d.day, n = int(r.atoms[i+1].value), 2
	}
	n += r.readYear(i+n, &d)
	if n == 1 && loneMonths[a.fold] && !r.followsTimeWord(i) {
		return 0
	}
	r.addDay(i, i+n-1, d)
	return n
}

// loneMonths are month names with other meanings; they need a number or time
// preposition.
var loneMonths = map[string]bool{"may": true, "march": true, "mars": true, "august": true, "april": true, "june": true, "sep": true, "dec": true, "mar": true, "jan": true}

func (r *reader) monthAt(i int) int {
	a := &r.atoms[i]
	m := monthNames[a.fold]
	if m > 0 && !a.upper && r.lang != "fr" && r.lang != "es" {
		return 0
	}
	return m
}

func (r *reader) readDayFirst(i int) (day, int) {
	if !r.isDay(i) {
		return day{}, 0
	}
	at := i + 1
	if at < len(r.atoms) && ofWords[r.atoms[at].fold] {
		at++
	}
	if at >= len(r.atoms) || r.monthAt(at) == 0 {
		return day{}, 0
	}
	d := day{day: int(r.atoms[i].value), month: r.monthAt(at)}
	n := at - i + 1
	return d, n + r.readYear(i+n, &d)
}

var ofWords = map[string]bool{"of": true, "de": true, "del": true}

func (r *reader) isDay(i int) bool {
	a := &r.atoms[i]
	return a.number && a.plain && a.value >= 1 && a.value <= 31 && a.suffix == "" && len(a.fold) <= 2
}

func (r *reader) readYear(i int, d *day) int {
	at := i
	if at < len(r.atoms) && ofWords[r.atoms[at].fold] {
		at++
	}
	if at >= len(r.atoms) || !r.isYear(at) {
		return 0
	}
	d.year = int(r.atoms[at].value)
	return at - i + 1
}

func (r *reader) isYear(i int) bool {
	a := &r.atoms[i]
	return a.number && a.plain && a.suffix == "" && yearLike(a.value, len(a.fold))
}

func (r *reader) yearAt(i int) (day, bool) {
	a := &r.atoms[i]
	if !a.plain || !yearLike(a.value, len(a.fold)) {
		return day{}, false
	}
	if a.suffix == "s" {
		return day{year: int(a.value), decade: int(a.value)%10 == 0}, true
	}
	if a.suffix != "" || a.order {
		return day{}, false
	}
	if i > 0 && precisionWords[r.atoms[i-1].fold] != exact && r.atoms[i-1].fold != "around" && r.atoms[i-1].fold != "c" && r.atoms[i-1].fold != "ca" {
		return day{}, false
	}
	if i+1 < len(r.atoms) {
		next := r.atoms[i+1].fold
		if scaleWords[next] > 0 && len(next) > 1 || unitTable[next].dimension != "" && next != "foot" {
			return day{}, false
		}
	}
	if r.currencySymbol(i) != "" {
		return day{}, false
	}
	return day{year: int(a.value)}, a.value >= 1700 || r.followsTimeWord(i)
}

func (r *reader) followsTimeWord(i int) bool { return i > 0 && timeWords[r.atoms[i-1].fold] }

func (r *reader) readEasternDate(i int) (d day, n int) {
	for i+n < len(r.atoms) && r.atoms[i+n].number {
		a := &r.atoms[i+n]
		if a.end >= len(r.text) {
			return d, n
		}
		v := int(a.value)
		switch c := firstRune(r.text[a.end:]); {
		case c == '年' && v > 99 && v < 3000 && d.countParts() == 0:
			d.year = v
		case c == '月' && v <= 12 && d.month == 0 && d.day == 0:
			d.month = v
		case c == '日' && v <= 31 && d.day == 0:
			d.day = v
			return d, n + 1
		default:
			return d, n
		}
		n++
		if i+n < len(r.atoms) && !r.atoms[i+n].number && r.atoms[i+n].end-r.atoms[i+n].start <= 3 {
			n++ // the character 年 or 月 alone
		}
	}
	if n > 0 && d.countParts() > 0 && i+n > 0 && !r.atoms[i+n-1].number {
		n--
	}
	return d, n
}
