package subconscious

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// numberWords maps number words to values. It omits "one", which may be a pronoun.
var numberWords = map[string]float64{
	"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	"thirteen": 13, "fourteen": 14, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "twice": 2, "both": 2,
	"zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
	"deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5,
	"second": 2, "third": 3, "fourth": 4, "fifth": 5,
}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

func (r *phraseScanner) parseDay(i int, raw, w string) (value, bool) {
	if raw == w {
		return value{}, false // the verb "may"
	}
	if w == "may" && r.first && !isNumber(r.tokenText(i+1)) {
		return value{}, false
	}
	if at := slices.Index(weekdays, strings.TrimSuffix(w, "s")); at >= 0 {
		return value{'w', uint64(at)}, true
	}
	at := slices.Index(months, w)
	return value{'m', uint64(max(0, at))}, at >= 0
}

func isNumber(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// parseNumber parses a number, time or id at i and returns how many tokens it takes.
func (r *phraseScanner) parseNumber(i int) int {
	raw := r.tokenText(i)
	if v, ok := numberWords[strings.ToLower(raw)]; ok {
		r.addValue(value{'n', math.Float64bits(v)})
		return 1
	}
	if !strings.ContainsAny(raw, "0123456789") {
		return 0
	}
	digits := strings.TrimRight(raw, "abcdefghijklmnopqrstuvwxyz")
	suffix := raw[len(digits):]
	if strings.Trim(digits, "0123456789") != "" || suffix != "" && !slices.Contains([]string{"st", "nd", "rd", "th", "pm", "am", "h", "k", "s", "gb", "mb"}, suffix) {
		r.addValue(value{'i', uint64(hashWord(strings.ToLower(raw)))})
		return 1
	}
	n := 1
	if n = r.parseClock(i, digits, suffix); n > 0 {
		return n
	}
	text, n := digits, 1
	for r.isJoined(i+n-1) && isNumber(r.tokenText(i+n)) && n < 4 {
		text, n = text+r.line[r.tokens[i+n-1].End:r.tokens[i+n].Start]+r.tokenText(i+n), n+1
	}
	if v, err := strconv.ParseFloat(normalizeNumber(text), 64); err == nil {
		r.addValue(value{'n', math.Float64bits(v)})
	} else {
		r.addValue(value{'i', uint64(hashWord(text))})
	}
	return n
}

// parseClock parses a time of day: "7:15", "4 pm", "10:05 pm".
func (r *phraseScanner) parseClock(i int, digits, suffix string) int {
	hour, err := strconv.Atoi(digits)
	if err != nil || hour > 24 {
		return 0
	}
	n, minute, is := 1, 0, false
	if next := r.tokenText(i + 1); suffix == "" && r.textBetween(i) == ":" && len(next) == 2 && isNumber(next) {
		minute, err = strconv.Atoi(next)
		n, is = 2, err == nil && minute < 60
		if !is {
			return 0
		}
	}
	half := suffix
	if suffix == "" {
		half = strings.ToLower(r.tokenText(i + n))
		if half == "pm" || half == "am" || half == "h" || half == "uhr" {
			n++
		}
	}
	switch {
	case half == "pm" && hour < 12:
		hour += 12
	case half == "am" && hour == 12:
		hour = 0
	}
	if is = is || half == "pm" || half == "am" || half == "uhr"; !is {
		return 0
	}
	r.addValue(value{'t', uint64(hour*60 + minute)})
	return n
}

func (r *phraseScanner) textBetween(i int) string {
	if i+1 >= len(r.tokens) {
		return ""
	}
	return r.line[r.tokens[i].End:r.tokens[i+1].Start]
}

func (r *phraseScanner) isJoined(i int) bool {
	return slices.Contains([]string{".", ",", "'"}, r.textBetween(i))
}

func normalizeNumber(s string) string {
	s = strings.ReplaceAll(s, "'", "")
	if at := strings.LastIndexByte(s, ','); at >= 0 && len(s)-at == 4 {
		return strings.ReplaceAll(s, ",", "")
	}
	return strings.ReplaceAll(s, ",", ".")
}

func (r *phraseScanner) addValue(v value) {
	if !slices.Contains(r.values, v) {
		r.values = append(r.values, v)
	}
	r.appendWord(hashWord(string(v.kind)+strconv.FormatUint(v.n, 10)), false)
}

// hasValue reports whether p contains v in any notation.
func (p *phrase) hasValue(v value) bool {
	return slices.ContainsFunc(p.values, func(o value) bool { return o == v || v.mayBeHour(o) || o.mayBeHour(v) })
}

// mayBeHour reports whether the number v may mean the time o, as in "at 8".
func (v value) mayBeHour(o value) bool {
	if v.kind != 'n' || o.kind != 't' {
		return false
	}
	h := math.Float64frombits(v.n) * 60
	return h == float64(o.n) || h+720 == float64(o.n)
}
