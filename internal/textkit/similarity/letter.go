package similarity

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A class is a set of properties of a rune.
type class uint8

const (
	letter class = 1 << iota
	capital
	digits
	whitespace
	wordMark // part of a word, but no letter or digit
	ignored  // ignored by contentHash
)

var classes = func() (list [utf8.RuneSelf]class) {
	for r := range rune(len(list)) {
		list[r] = classifyRune(r)
		if r == '_' {
			list[r] |= wordMark
		}
	}
	return list
}()

// classOf returns the class of a rune; wordMark only for ASCII.
func classOf(r rune) class {
	if uint32(r) < utf8.RuneSelf {
		return classes[r]
	}
	return classifyRune(r)
}

func classifyRune(r rune) (is class) {
	switch {
	case unicode.IsLetter(r):
		if is = letter; unicode.IsUpper(r) {
			is |= capital
		}
	case unicode.IsDigit(r):
		is = digits
	case unicode.IsSpace(r):
		is = whitespace
	case strings.ContainsRune(".,\"“”", r):
		is = ignored
	}
	return is
}

// lowerRune returns the lower case of a rune of class is.
func lowerRune(r rune, is class) rune {
	if r < utf8.RuneSelf {
		if is&capital != 0 {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' || r > 0x7f && unicode.IsDigit(r) }

func isWordRune(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.M) || r == '_' }

// foldWord returns a word in lower case without accents.
func foldWord(w string) string {
	return foldReplacer.Replace(strings.Map(dropMark, norm.NFKD.String(strings.ToLower(w))))
}

// foldTable holds fold of each rune below maxFolded. It applies letter by letter only to words
// without combining marks, because marks may be reordered.
var foldTable = sync.OnceValue(func() *[maxFolded]string {
	var list [maxFolded]string
	for r := range rune(maxFolded) {
		list[r] = foldWord(string(r))
	}
	return &list
})

const maxFolded = 0x530 // end of the Latin, Greek and Cyrillic letters

// dropMark removes combining marks that do not distinguish words.
func dropMark(r rune) rune {
	switch {
	case 0x0300 <= r && r <= 0x036f, 0x0591 <= r && r <= 0x05c7, 0x064b <= r && r <= 0x065f:
		return -1
	}
	return r
}

// foldReplacer replaces letters that Unicode does not decompose.
var foldReplacer = strings.NewReplacer("’", "'", "ʼ", "'", "ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ")

// scanNumber scans a number and its digit groups. Text with two points, such as a version, becomes
// a name.
func (s *scanner) scanNumber() {
	from := s.pos
	s.wordBuf = s.wordBuf[:0]
	points := 0
	for s.pos < len(s.text) {
		switch r := s.text[s.pos]; {
		case isDigit(r):
			s.wordBuf = append(s.wordBuf, asciiDigit(r))
		case r == ' ' && s.pos-from <= 3 && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]) && s.isGrouping(r):
		case (r == '.' || r == ',' || r == '\'' || r == '’') && s.pos+1 < len(s.text) && isDigit(s.text[s.pos+1]):
			if !s.isGrouping(r) {
				points++
				s.wordBuf = append(s.wordBuf, '.')
			}
		default:
			s.endNumber(from, points)
			return
		}
		s.pos++
	}
	s.endNumber(from, points)
}

// isGrouping reports whether r precedes exactly three digits and groups digits in this language.
func (s *scanner) isGrouping(r rune) bool {
	n := 0
	for i := s.pos + 1; i < len(s.text) && isDigit(s.text[i]); i++ {
		n++
	}
	if r == ' ' {
		return n == 3
	}
	s.ambiguousPoint = s.ambiguousPoint || n == 3
	switch r {
	case '.':
		return n == 3 && !s.pointDecimal
	}
	return r != ',' || n == 3 && s.pointDecimal
}

func (s *scanner) endNumber(from, points int) {
	negative := from > 0 && (s.text[from-1] == '-' || s.text[from-1] == '−') && (from == 1 || s.text[from-2] == ' ')
	value, ok := s.parseDigits(points)
	if !ok {
		w := string(s.text[from:min(s.pos, from+maxWord)])
		s.addToken(s.words.lookup([]byte(w)), word).isName = true
		return
	}
	if negative {
		value = -value
	}
	s.addToken(anyNumber, number).value = value
	s.skipOrdinal()
}

func (s *scanner) parseDigits(points int) (float64, bool) {
	if points > 1 || len(s.wordBuf) > 18 {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(s.wordBuf), 64)
	return value, err == nil
}

var anyNumber = &lexeme{text: "0"}

// skipOrdinal skips the letters of 1st, 2nd and 20th.
func (s *scanner) skipOrdinal() {
	if s.pos+2 > len(s.text) || s.pos+2 < len(s.text) && isWordRune(s.text[s.pos+2]) {
		return
	}
	switch [2]rune{unicode.ToLower(s.text[s.pos]), unicode.ToLower(s.text[s.pos+1])} {
	case [2]rune{'s', 't'}, [2]rune{'n', 'd'}, [2]rune{'r', 'd'}, [2]rune{'t', 'h'}:
		s.pos += 2
	}
}

// asciiDigit converts a decimal digit. Unicode stores the ten digits of a script consecutively.
func asciiDigit(r rune) byte {
	if r < 0x80 {
		return byte(r)
	}
	n := byte(0)
	for q := r - 1; n < 9 && isDigit(q) && q > 0x7f; q-- {
		n++
	}
	return '0' + n
}

// A unit is a measure in multiples of the base of its dimension.
type unit struct {
	dimension string
	factor    float64
}

// units may follow or precede a number.
var units = map[string]unit{
	"%": {"share", 0.01}, "percent": {"share", 0.01}, "percentage": {"share", 0.01}, "prozent": {"share", 0.01},
	"ms": {"time", 0.001}, "millisecond": {"time", 0.001}, "s": {"time", 1}, "sec": {"time", 1}, "second": {"time", 1},
	"sekunde": {"time", 1}, "min": {"time", 60}, "minute": {"time", 60}, "minuto": {"time", 60}, "h": {"time", 3600},
	"hour": {"time", 3600}, "stunde": {"time", 3600}, "heure": {"time", 3600}, "hora": {"time", 3600}, "day": {"time", 86400},
	"tag": {"time", 86400}, "jour": {"time", 86400}, "dia": {"time", 86400}, "week": {"time", 604800}, "woche": {"time", 604800},
	"semaine": {"time", 604800}, "semana": {"time", 604800}, "month": {"months", 1}, "monat": {"months", 1}, "mes": {"months", 1},
	"mois": {"months", 1}, "year": {"months", 12}, "jahr": {"months", 12}, "an": {"months", 12}, "ano": {"months", 12},
	"annee": {"months", 12}, "decade": {"months", 120}, "century": {"months", 1200},
	"mm": {"length", 0.001}, "cm": {"length", 0.01}, "m": {"length", 1}, "meter": {"length", 1}, "metre": {"length", 1},
	"km": {"length", 1000}, "kilometer": {"length", 1000}, "kilometre": {"length", 1000}, "mile": {"length", 1609.344},
	"mg": {"mass", 1e-6}, "g": {"mass", 0.001}, "gram": {"mass", 0.001}, "kg": {"mass", 1}, "kilo": {"mass", 1},
	"kilogram": {"mass", 1}, "ton": {"mass", 1000}, "tonne": {"mass", 1000}, "kb": {"bytes", 1e3}, "mb": {"bytes", 1e6},
	"gb": {"bytes", 1e9}, "tb": {"bytes", 1e12}, "$": {"dollar", 1}, "dollar": {"dollar", 1}, "usd": {"dollar", 1},
	"€": {"euro", 1}, "euro": {"euro", 1}, "eur": {"euro", 1}, "£": {"pound", 1}, "¥": {"yen", 1}, "yen": {"yen", 1},
}

var numberWords = map[string]float64{
	"zero": 0, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
	"twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19,
	"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "dozen": 12,
	"zwei": 2, "drei": 3, "vier": 4, "funf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "zwolf": 12,
	"deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7, "huit": 8, "neuf": 9, "dix": 10, "douze": 12,
	"dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6, "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "doce": 12,
}

// scales multiply the number before them.
var scales = map[string]float64{
	"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "bn": 1e9, "k": 1e3,
	"tausend": 1e3, "millionen": 1e6, "milliarde": 1e9, "milliarden": 1e9, "mille": 1e3, "milliard": 1e9, "mil": 1e3, "millon": 1e6, "millones": 1e6,
	"hundert": 1e2, "cent": 1e2,
}

var fractions = map[string]float64{
	"half": 0.5, "third": 1.0 / 3, "quarter": 0.25, "fifth": 0.2, "tenth": 0.1,
	"halfte": 0.5, "drittel": 1.0 / 3, "viertel": 0.25, "moitie": 0.5, "tiers": 1.0 / 3, "mitad": 0.5, "tercio": 1.0 / 3,
}

// addAmount adds a number with its unit and returns the number of tokens used.
func (r *reader) addAmount(i int, value float64, n int) int {
	dimension := ""
	if i > 0 && r.tokens[i-1].kind == mark {
		if u, ok := units[r.tokens[i-1].text]; ok {
			dimension = u.dimension
		}
	}
	for i+n < len(r.tokens) {
		t := &r.tokens[i+n]
		if t.sentence != r.tokens[i].sentence {
			break
		}
		if f, ok := scales[t.text]; ok {
			value, n = value*f, n+1
			continue
		}
		if f, ok := fractions[strings.TrimSuffix(t.text, "s")]; ok && value < 10 {
			value, dimension, n = value*f, "share", n+1
			break
		}
		if u, ok := units[t.text]; ok || pluralUnit(t, &u) {
			value, dimension, n = value*u.factor, u.dimension, n+1
		} else if t.text == "per" && i+n+1 < len(r.tokens) && r.tokens[i+n+1].text == "cent" {
			value, dimension, n = value*0.01, "share", n+2
		}
		break
	}
	r.addValue(i, value, dimension)
	return n
}

func pluralUnit(t *token, u *unit) (ok bool) {
	if t.kind != word || len(t.text) < 2 {
		return false
	}
	for _, end := range []string{"s", "n", "en", "e", "es"} {
		if w, cut := strings.CutSuffix(t.text, end); cut && w != "" {
			if *u, ok = units[w]; ok {
				return true
			}
		}
	}
	return false
}

func (r *reader) addValue(i int, value float64, dimension string) {
	var room [40]byte
	text := append(strconv.AppendFloat(append(room[:0], '#'), value, 'g', 9, 64), ' ')
	r.addTerm(i, term{id: hash(append(text, dimension...)), weight: weightListed, is: amount})
}

// addNumberWord adds a number in words and returns the number of tokens used, 0 for none.
func (r *reader) addNumberWord(i int) int {
	t := &r.tokens[i]
	if t.lexeme.is&numeral == 0 {
		return 0
	}
	if v, ok := numberWords[t.text]; ok {
		n := 1
		if i+1 < len(r.tokens) && v >= 20 && math.Mod(v, 10) == 0 {
			if u, ok := numberWords[r.tokens[i+1].text]; ok && u < 10 {
				v, n = v+u, 2
			}
		}
		return r.addAmount(i, v, n)
	}
	next := ""
	if i+1 < len(r.tokens) {
		next = r.tokens[i+1].text
	}
	if t.text == "one" || t.text == "a" || t.text == "an" {
		if _, ok := scales[next]; ok && len(next) > 2 {
			return r.addAmount(i, 1, 1)
		}
		if f, ok := fractions[next]; ok && r.isShareLink(i+2) {
			r.addValue(i, f, "share")
			return 2
		}
		return 0
	}
	if f, ok := fractions[t.text]; ok && (r.isShareLink(i+1) || t.text == "half") {
		r.addValue(i, f, "share")
		return 1
	}
	return 0
}

// isShareLink reports whether the word at i links a share to its whole, as in "half of".
func (r *reader) isShareLink(i int) bool {
	return i < len(r.tokens) && slices.Contains([]string{"of", "the", "der", "des", "de", "du", "del"}, r.tokens[i].text)
}
