package claim

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

type figure struct {
	span
	value     float64
	unit      string  // "share", "dollar", "length" etc.; "" for a count
	size      float64 // of the written unit, or 0
	step      float64 // value of the last significant digit
	precision precision
	noun      string // stem of the counted noun, if it follows
	text      string // as in the text
}

type precision uint8

const (
	exact precision = iota
	approximate
	atLeast
	atMost
)

type fitLevel uint8

const (
	noFit      fitLevel = iota
	nearFit             // near, but not by rounding
	roundedFit          // equal after rounding
	equalFit
)

func (f figure) compareWith(source figure) fitLevel {
	if f.unit != source.unit && f.unit != "" && source.unit != "" {
		return noFit
	}
	a, b := f.value, source.value
	off := math.Abs(a - b)
	big := max(math.Abs(a), math.Abs(b))
	switch {
	case off <= 1e-9*big:
		return equalFit
	case f.unit != source.unit:
		return noFit
	case off <= 0.5*f.step*(1+1e-9) && f.step < 0.2*big:
		return roundedFit
	case f.precision == approximate && off <= 0.05*big, f.precision == atLeast && b > a && b < 1.25*a, f.precision == atMost && b < a && b > 0.8*a:
		return roundedFit
	case source.precision == approximate && off <= 0.05*big, f.step >= 0.01*big && off <= 0.05*big:
		return nearFit
	}
	return noFit
}

var scaleWords = map[string]float64{
	"hundred": 1e2, "thousand": 1e3, "million": 1e6, "millions": 1e6, "billion": 1e9, "trillion": 1e12, "mn": 1e6, "bn": 1e9, "m": 1e6, "k": 1e3, "b": 1e9,
	"hundert": 1e2, "tausend": 1e3, "tsd": 1e3, "mio": 1e6, "millionen": 1e6, "mrd": 1e9, "milliarde": 1e9, "milliarden": 1e9, "billionen": 1e12,
	"cent": 1e2, "cents": 1e2, "mille": 1e3, "milliers": 1e3, "millions ": 1e6, "milliard": 1e9, "milliards": 1e9,
	"cien": 1e2, "mil": 1e3, "millon": 1e6, "millones": 1e6, "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8, "千": 1e3, "百": 1e2,
}

type baseMeasure struct {
	dimension string
	size      float64
}

var unitTable = func() map[string]baseMeasure {
	all := make(map[string]baseMeasure)
	add := func(of string, size float64, names string) {
		for n := range strings.FieldsSeq(names) {
			all[n] = baseMeasure{of, size}
		}
	}
	add("share", 0.01, "% percent percentage prozent pourcent pourcents % ％")
	add("dollar", 1, "$ usd dollar dollars us$")
	add("dollar", 0.01, "cents")
	add("euro", 1, "€ eur euro euros")
	add("pound sterling", 1, "£ gbp pounds")
	add("yen", 1, "¥ yen jpy 円")
	add("franc", 1, "chf franken francs")
	add("length", 0.001, "mm millimetre millimetres millimeter millimeters")
	add("length", 0.01, "cm centimetre centimetres centimeter centimeters")
	add("length", 1, "metre metres meter meters metern metro metros")
	add("length", 1000, "km kilometre kilometres kilometer kilometers kilometern kilometro kilometros")
	add("length", 1609.344, "mi mile miles meile meilen milla millas")
	add("length", 0.3048, "ft foot feet fuss pieds pies")
	add("mass", 1, "kg kilo kilos kilogram kilograms kilogramm kilogrammes kilogramos")
	add("mass", 0.001, "gram grams gramm grammes gramos")
	add("mass", 1000, "ton tons tonne tonnes tonnen toneladas")
	add("mass", 0.45359237, "lb lbs pound")
	add("mass", 1e6, "kt kiloton kilotons kilotonne kilotonnes")
	add("area", 1e4, "ha hectare hectares hektar hectareas")
	add("area", 4046.86, "acre acres")
	add("area", 1e6, "km² km2")
	add("heat", 1, "°c celsius")
	add("power", 1, "watt watts")
	add("power", 1e3, "kw kilowatt kilowatts")
	add("power", 1e6, "mw megawatt megawatts")
	add("power", 1e9, "gw gigawatt gigawatts")
	return all
}()

var precisionWords = map[string]precision{
	"about": approximate, "around": approximate, "roughly": approximate, "approximately": approximate, "approx": approximate, "nearly": approximate, "almost": approximate, "some": approximate, "circa": approximate,
	"ca": approximate, "c": approximate, "estimated": approximate, "close": approximate, "etwa": approximate, "rund": approximate, "ungefahr": approximate, "fast": approximate, "knapp": approximate, "environ": approximate,
	"pres": approximate, "presque": approximate, "quelque": approximate, "aproximadamente": approximate, "unos": approximate, "unas": approximate, "alrededor": approximate, "cerca": approximate, "casi": approximate, "約": approximate, "约": approximate,
	"over": atLeast, "more": atLeast, "least": atLeast, "above": atLeast, "exceeding": atLeast, "exceeds": atLeast, "exceed": atLeast, "exceeded": atLeast, "uber": atLeast, "mehr": atLeast, "mindestens": atLeast, "plus": atLeast, "mas": atLeast,
	"moins": atMost, "under": atMost, "fewer": atMost, "less": atMost, "most": atMost, "below": atMost, "unter": atMost, "weniger": atMost, "hochstens": atMost, "menos": atMost,
}

var numerals = func() map[string]float64 {
	all := make(map[string]float64)
	for _, list := range []string{
		"zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
		"null - zwei drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn",
		"- - deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize - - -",
		"cero - dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve",
		"- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth",
		"- erste zweite dritte vierte funfte sechste siebte achte neunte zehnte",
		"- - twice - - - - - - - - - dozen",
	} {
		for i, w := range strings.Fields(list) {
			if _, have := all[w]; !have && w != "-" {
				all[w] = float64(i)
			}
		}
	}
	for i, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		all[w] = float64(20 + 10*i)
	}
	for i, w := range strings.Fields("zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig") {
		all[w] = float64(20 + 10*i)
	}
	for i, w := range strings.Fields("vingt trente quarante cinquante soixante") {
		all[w] = float64(20 + 10*i)
	}
	for i, w := range strings.Fields("veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa") {
		all[w] = float64(20 + 10*i)
	}
	delete(all, "once") // mostly English words
	delete(all, "seize")
	delete(all, "one") // seldom a number
	all["first"] = 1
	return all
}()

func isOrdinal(word string) bool {
	return strings.HasSuffix(word, "th") || word == "first" || word == "second" || word == "third" || strings.HasSuffix(word, "te")
}

// parseDigits reads the number at i: its value, the value of its last significant digit,
// and its end. ok is false for names and codes.
func parseDigits(text string, i int) (value, step float64, end int, ok bool) {
	j, decimals := i, -1
	var digits []byte
	for j < len(text) {
		r, n := utf8.DecodeRuneInString(text[j:])
		if d, is := digitOf(r); is {
			digits = append(digits, d)
			if decimals >= 0 {
				decimals++
			}
			j += n
			continue
		}
		run := countDigits(text[j+n:])
		group := run == 3 && decimals < 0 && len(digits) > 0 && len(digits) <= 12 && digits[0] != '0' && strings.ContainsRune(",.'’\u00a0\u202f\u2009", r) && (j-i <= 3 || hasGroupMark(text[i:j]))
		if group && r == '.' && !strings.Contains(text[i:j], ".") && !isThousandsGroup(text, i, j+n+run) {
			group = false
		}
		if group {
			j += n
			continue
		}
		if (r == '.' || r == ',') && run > 0 && decimals < 0 && len(digits) > 0 {
			decimals = 0
			j += n
			continue
		}
		break
	}
	if len(digits) == 0 || len(digits) > 15 {
		return 0, 0, max(j, i+1), false
	}
	value, _ = strconv.ParseFloat(string(digits), 64)
	step = 1
	for range max(0, decimals) {
		value, step = value/10, step/10
	}
	for k := len(digits) - 1; k > 0 && decimals <= 0 && digits[k] == '0'; k-- {
		step *= 10
	}
	return value, step, j, true
}

func hasGroupMark(s string) bool {
	return strings.ContainsAny(s, ",.'’\u00a0\u202f\u2009")
}

// isThousandsGroup reports whether a point before three digits groups them, as in "3.559". It
// does not if more than three digits precede it, or before a unit that takes decimals.
func isThousandsGroup(text string, i, end int) bool {
	rest := strings.TrimLeft(text[end:], " ")
	return i+3 <= end && !strings.HasPrefix(rest, "m ") && !strings.HasPrefix(rest, "million") && !strings.HasPrefix(rest, "%")
}

func countDigits(s string) (n int) {
	for _, r := range s {
		if _, is := digitOf(r); !is || n == 4 {
			return n
		}
		n++
	}
	return n
}

func digitOf(r rune) (byte, bool) {
	switch {
	case '0' <= r && r <= '9':
		return byte(r), true
	case '０' <= r && r <= '９':
		return byte(r-'０') + '0', true
	case '٠' <= r && r <= '٩':
		return byte(r-'٠') + '0', true
	case '۰' <= r && r <= '۹':
		return byte(r-'۰') + '0', true
	}
	return 0, false
}

// numberSuffix returns the letters directly after a number: an ordinal ending ("1st"),
// unit or scale ("5km", "3k"). ok is false if they form a name.
func numberSuffix(text string, at int) (word string, end int, ok bool) {
	end = at
	for end < len(text) && end-at < 24 {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsLetter(r) && !(end > at && unicode.IsDigit(r)) || lexical.Unspaced(r) {
			break
		}
		end += n
	}
	word = lexical.Fold(text[at:end])
	switch word {
	case "":
		return "", at, true
	case "st", "nd", "rd", "th", "er", "e", "eme", "o", "a", "s":
		return "", end, true
	}
	if _, is := unitTable[word]; is || scaleWords[word] > 0 {
		return word, end, true
	}
	return word, end, false
}
