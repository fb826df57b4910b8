package steering

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A kind is the kind of a limit. Its value is the index of the limit in [limits].
type kind int

const (
	noKind kind = iota - 1
	timeKind
	tokensKind
	callsKind
	moneyKind
)

// A quantity is a number with its unit, in the unit of the limit.
type quantity struct {
	kind   kind
	amount float64 // of noKind: the figure
	figure float64 // the number without its unit
	end    int     // index of the word after it
}

func (q quantity) value() int64 { return int64(math.Round(q.amount)) }

// A unit is a word for a unit of a limit.
type unit struct {
	kind kind
	size float64
}

const micros = 1e6 // of a dollar

// units are the units by their words in lower case.
var units = unitTable(map[string]unit{
	"s sec secs second seconds sekunde sekunden":            {timeKind, float64(time.Second)},
	"m min mins minute minutes minuten minütchen":           {timeKind, float64(time.Minute)},
	"h hr hrs hour hours std stunde stunden stündchen":      {timeKind, float64(time.Hour)},
	"viertelstunde viertelstunden":                          {timeKind, float64(15 * time.Minute)},
	"dreiviertelstunde":                                     {timeKind, float64(45 * time.Minute)},
	"cent cents ct cts ¢ penny pennies c":                   {moneyKind, micros / 100},
	"dollar dollars usd $ buck bucks dollarn us-dollar us$": {moneyKind, micros},
	"call calls request requests aufruf aufrufe aufrufen":   {callsKind, 1},
	"anfrage anfragen modellaufrufe modellaufrufen":         {callsKind, 1},
	"token tokens": {tokensKind, 1},
})

func unitTable(lists map[string]unit) map[string]unit {
	table := make(map[string]unit)
	for words, u := range lists {
		for _, w := range strings.Fields(words) {
			table[w] = u
		}
	}
	return table
}

var englishNumbers = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12,
}

var germanNumbers = map[string]float64{
	"null": 0, "ein": 1, "eins": 1, "eine": 1, "einen": 1, "einem": 1, "einer": 1, "zwei": 2, "zwo": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7,
	"acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12, "dreizehn": 13, "vierzehn": 14, "fünfzehn": 15, "sechzehn": 16, "siebzehn": 17,
	"achtzehn": 18, "neunzehn": 19, "zwanzig": 20, "dreißig": 30, "dreissig": 30, "vierzig": 40, "fünfzig": 50, "sechzig": 60, "siebzig": 70,
	"achtzig": 80, "neunzig": 90, "dutzend": 12, "anderthalb": 1.5,
}

// parseGerman parses a number that is one German word, such as "zweihundertfünfundzwanzig".
func parseGerman(w string) (float64, bool) {
	if n, ok := germanNumbers[w]; ok {
		return n, true
	}
	if rest, ok := strings.CutSuffix(w, "einhalb"); ok {
		n, ok := parseGerman(rest)
		return n + 0.5, ok
	}
	for _, scale := range []struct {
		word string
		size float64
	}{{"tausend", 1000}, {"hundert", 100}} {
		left, right, found := strings.Cut(w, scale.word)
		if !found {
			continue
		}
		n, okLeft := 1.0, true
		if left != "" {
			n, okLeft = parseGerman(left)
		}
		rest, okRight := 0.0, true
		if right = strings.TrimPrefix(right, "und"); right != "" {
			rest, okRight = parseGerman(right)
		}
		return n*scale.size + rest, okLeft && okRight
	}
	if ones, tens, found := strings.Cut(w, "und"); found {
		n, okN := germanNumbers[ones]
		t, okT := germanNumbers[tens]
		return n + t, okN && okT && n < 10 && t >= 20 && t < 100
	}
	return 0, false
}

var (
	digits    = regexp.MustCompile(`^\d+$`)
	thousands = regexp.MustCompile(`^[1-9]\d{0,2}([.,'’]\d{3})+$`)
	decimal   = regexp.MustCompile(`^\d*[.,]\d+$`)
	glued     = regexp.MustCompile(`^([$]?)(\d[\d.,'’]*)([kKmM]?)(\pL*|[$¢])$`)
	duration  = regexp.MustCompile(`^(\d+h)?(\d+m)?(\d+s)?$`)
)

// parseDigits parses a number in digits with the separators of either language.
func parseDigits(text string) (float64, bool) {
	switch {
	case digits.MatchString(text):
	case thousands.MatchString(text):
		text = strings.NewReplacer(".", "", ",", "", "'", "", "’", "").Replace(text)
	case decimal.MatchString(text):
		text = strings.Replace(text, ",", ".", 1)
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// parseGlued parses a number and the unit that is written with it: "50k", "30min", "$0.50", "1h30m".
func parseGlued(text string) (q quantity, ok bool) {
	if duration.MatchString(text) && text != "" {
		if d, err := time.ParseDuration(text); err == nil {
			return quantity{kind: timeKind, amount: float64(d)}, true
		}
	}
	m := glued.FindStringSubmatch(text)
	if m == nil {
		return q, false
	}
	n, ok := parseDigits(m[2])
	if !ok {
		return q, false
	}
	q = quantity{kind: noKind, amount: n, figure: n}
	tail := strings.ToLower(m[4])
	if u, known := units[strings.ToLower(m[3])+tail]; known && m[3]+tail != "" {
		q.kind, q.amount = u.kind, n*u.size
		return q, m[1] == ""
	}
	switch strings.ToLower(m[3]) {
	case "k":
		q.amount *= 1e3
	case "m":
		q.amount *= 1e6
	}
	u, known := units[tail]
	switch {
	case m[1] == "$":
		q.kind, q.amount = moneyKind, q.amount*micros
		return q, tail == ""
	case known:
		q.kind, q.amount = u.kind, q.amount*u.size
	}
	return q, known || tail == ""
}

// parseNumber parses the number at words[i], and returns the index after it.
func parseNumber(words []word, i int) (n float64, next int, ok bool) {
	if i >= len(words) {
		return 0, i, false
	}
	w := words[i].norm
	if n, ok := parseDigits(words[i].bare); ok {
		return scaleNumber(words, n, i+1)
	}
	if n, ok := parseEnglish(w); ok {
		if n >= 20 && n < 100 && math.Mod(n, 10) == 0 && i+1 < len(words) {
			if ones, ok := englishNumbers[words[i+1].norm]; ok && ones > 0 && ones < 10 {
				return scaleNumber(words, n+ones, i+2)
			}
		}
		return scaleNumber(words, n, i+1)
	}
	switch w {
	case "half", "halbe", "halben", "halber", "halb":
		return 0.5, i + 1, true
	case "quarter", "viertel":
		return 0.25, i + 1, true
	case "a", "an", "another":
		return scaleNumber(words, 1, i+1)
	}
	if n, ok := parseGerman(w); ok {
		return scaleNumber(words, n, i+1)
	}
	return 0, i, false
}

func parseEnglish(w string) (float64, bool) {
	if n, ok := englishNumbers[w]; ok {
		return n, true
	}
	tens, ones, _ := strings.Cut(w, "-")
	t, okT := englishNumbers[tens]
	n, okN := englishNumbers[ones]
	return t + n, okT && okN && t >= 20 && n < 10
}

// scaleNumber multiplies n by the words after it: "hundred", "thousand", "and a half", "quarter".
func scaleNumber(words []word, n float64, i int) (float64, int, bool) {
	for ; i < len(words); i++ {
		switch words[i].norm {
		case "hundred", "hundert":
			n *= 100
		case "thousand", "tausend":
			n *= 1000
		case "million", "millionen":
			n *= 1e6
		case "dozen":
			n *= 12
		case "half", "halbe", "halben", "halber":
			n *= 0.5
		case "quarter", "viertel":
			n *= 0.25
		default:
			if isHalfMore(words, i) {
				return n + 0.5, i + 3, true
			}
			return n, i, true
		}
	}
	return n, i, true
}

// isHalfMore reports whether the words at i are "and a half".
func isHalfMore(words []word, i int) bool {
	return i+2 < len(words) && words[i].norm == "and" && words[i+1].norm == "a" && words[i+2].norm == "half"
}

// parseQuantity parses the number with its unit at words[i]. Words of more and less may stand between
// them, as in "ten more minutes".
func parseQuantity(words []word, i int) (q quantity, ok bool) {
	if q, ok := parseGlued(words[i].bare); ok && q.kind != noKind {
		q.end = i + 1
		return q, true
	} else if ok && !digits.MatchString(words[i].bare) {
		return withUnit(words, q.amount, i+1)
	}
	n, next, ok := parseNumber(words, i)
	if !ok {
		return q, false
	}
	return withUnit(words, n, next)
}

func withUnit(words []word, n float64, i int) (q quantity, ok bool) {
	bare := quantity{kind: noKind, amount: n, figure: n, end: i}
	at := i
	for at < len(words) && isWord(words[at].norm, "more", "less") || at < len(words) && n < 1 && isWord(words[at].norm, "article") {
		at++
	}
	if at >= len(words) {
		return bare, true
	}
	u, known := units[words[at].norm]
	if !known {
		return bare, true
	}
	q = quantity{kind: u.kind, amount: n * u.size, figure: n, end: at + 1}
	if isHalfMore(words, q.end) {
		q.amount, q.end = q.amount+u.size/2, q.end+3
	}
	if u.kind == moneyKind && u.size == micros { // "a dollar fifty"
		if cents, next, ok := parseNumber(words, q.end); ok && cents < 100 && cents == math.Trunc(cents) && cents >= 1 {
			q.amount, q.end = q.amount+cents*micros/100, next
			if next < len(words) && units[words[next].norm].kind == moneyKind && units[words[next].norm].size == micros/100 {
				q.end++
			}
		}
	}
	return q, true
}

// figuresIn returns the numbers and quantities of a text, for the check of a model's figures.
func figuresIn(words []word) (list []quantity) {
	for i := range words {
		if q, ok := parseQuantity(words, i); ok {
			list = append(list, q)
		}
	}
	return list
}
