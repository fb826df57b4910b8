package session

import (
	"math"
	"ponder/internal/textkit"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// fold returns text with the digits, signs and letters of other scripts that
// stand for those of ASCII as those.
func fold(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x80:
			return r
		case r >= '！' && r <= '～': // fullwidth forms
			return r - '！' + '!'
		case r == '\u066a' || r == '﹪':
			return '%'
		case r == '\u066b': // Arabic decimal separator
			return '.'
		case r == '\u060c': // Arabic comma
			return ','
		case r == '−' || r == '–':
			return '-'
		case r == '⁄' || r == '∕':
			return '/'
		case r == '\u3000' || r == '\u00a0' || r == '\u202f':
			return ' '
		case r == '：' || r == '﹕' || r == '꞉' || r == '∶':
			return ':'
		case unicode.Is(unicode.Nd, r):
			return digit(r)
		}
		return r
	}, text)
}

// digit returns the ASCII digit of a decimal digit. Unicode keeps the ten
// digits of a script together, and the tables keep whole scripts together.
func digit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// maxNumber bounds the text that a number is looked for in, in bytes.
const maxNumber = 80

// A reading is a number as it was written: x, x% or x/of.
type reading struct {
	x, of   float64
	percent bool
}

// spelled has numbers as they are written nowhere else: fractions that are one letter,
// points in the middle of the line, and strokes that stand for points in Persian.
var spelled = strings.NewReplacer("¼", "0.25", "½", "0.5", "¾", "0.75", "0·", "0.", "۰/", "۰.", "٠/", "٠.")

// scale matches the ends of a scale, as in "from 0 to 10" or "[0.0-1.0]".
var scale = regexp.MustCompile(`\b[01](?:\.0+)?\s*(?:-|~|…|\.\.\.?|to|bis|a|à|до|至|到)\s*(?:100|10|5|1)(?:\.0+)?\b\s*%?`)

// read finds the number that is meant in text, and says whether there is one: the first
// with a unit, or else between 0 and 1, or else at all, beside the ends of a scale.
func read(text string) (r reading, ok bool) {
	text = fold(spelled.Replace(textkit.TruncateBytes(strings.TrimLeft(text, " –—"), maxNumber)))
	if rest := scale.ReplaceAllString(text, " "); strings.ContainsAny(rest, "0123456789") {
		text = rest
	}
	for text != "" {
		var next reading
		var is bool
		if next, text, is = first(text); !is {
			break
		}
		unit, share := next.percent || next.of > 0, 0 < next.x && next.x < 1
		switch {
		case unit:
			return next, true
		case !ok, share && !(0 < r.x && r.x < 1):
			r, ok = next, true
		}
	}
	return r, ok
}

// first finds the first number in text, and returns what follows it.
func first(text string) (r reading, rest string, ok bool) {
	at := strings.IndexAny(text, "0123456789")
	if at < 0 {
		return r, "", false
	}
	if at > 0 && text[at-1] == '.' && (at == 1 || text[at-2] < '0' || text[at-2] > '9') {
		at-- // .8
	}
	negative := at > 0 && text[at-1] == '-' && (at == 1 || text[at-2] == ' ')
	r.x, rest = leading(text[at:])
	if negative {
		r.x = -r.x
	}
	text = strings.TrimLeft(rest, " \t*_`")
	switch {
	case strings.HasPrefix(text, "%"), hasWord(text, "percent"), hasWord(text, "per cent"), hasWord(text, "prozent"):
		r.percent = true
	case strings.HasPrefix(text, "/"):
		r.of, rest = leading(strings.TrimLeft(text[1:], " "))
	default:
		for _, of := range []string{"out of ", "of ", "von ", "sur ", "de ", "из "} {
			if hasWord(text, of) && r.x >= 1 {
				r.of, rest = leading(strings.TrimLeft(text[len(of):], " "))
				break
			}
		}
	}
	return r, rest, true
}

func hasWord(text, word string) bool {
	return len(text) >= len(word) && strings.EqualFold(text[:len(word)], word)
}

// leading returns the number that text begins with and what follows it. A comma
// is a decimal point if no more than two digits, or a zero before it, say so.
func leading(text string) (float64, string) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	digits, point := text[:n], ""
	if n < len(text) && (text[n] == '.' || text[n] == ',') {
		m := n + 1
		for m < len(text) && text[m] >= '0' && text[m] <= '9' {
			m++
		}
		if m > n+1 {
			point, n = text[n+1:m], m
		}
	}
	x, err := strconv.ParseFloat("0"+digits+"."+point+"0", 64)
	if err != nil {
		return 0, text[n:]
	}
	return x, text[n:]
}

// words that stand for numbers, as shares. Those that others begin with come later.
var words = []struct {
	share float64
	words []string
}{
	{0.1, []string{"very low", "certainly not", "sehr niedrig", "sehr gering", "muy baja", "très faible", "очень низк", "很低", "非常低"}},
	{0.9, []string{"very high", "very confident", "extremely high", "sehr hoch", "muy alta", "très élevée", "очень высок", "很高", "非常高"}},
	{0.3, []string{"unlikely", "low to medium", "low-medium", "medium-low"}},
	{0.65, []string{"medium to high", "medium-high", "moderately high", "moderate to high"}},
	{0.95, []string{"certain", "sicher"}},
	{0.8, []string{"high", "strong", "confident", "hoch", "alta", "alto", "élevé", "haute", "высок", "高", "높"}},
	{0.7, []string{"likely", "probable", "wahrscheinlich"}},
	{0.5, []string{"medium", "moderate", "mittel", "media", "médio", "moyen", "средн", "中", "보통", "중간"}},
	{0.2, []string{"low", "weak", "niedrig", "gering", "baja", "bajo", "baixa", "bassa", "faible", "низк", "低", "낮"}},
}

// slight are words that hardly change the one behind them.
var slight = []string{"fairly ", "quite ", "rather ", "relatively ", "pretty ", "reasonably ", "somewhat ", "ziemlich ", "eher ", "bastante ", "assez ", "довольно ", "较"}

// worded returns the share that a word stands for.
func worded(text string) (float64, bool) {
	text = strings.ToLower(strings.TrimLeft(fold(text), " \t*_`'\"[("))
	for _, w := range slight {
		text = strings.TrimPrefix(text, w)
	}
	for _, w := range words {
		if slices.ContainsFunc(w.words, func(word string) bool { return strings.HasPrefix(text, word) }) {
			return w.share, true
		}
	}
	return 0, false
}

// share reads a confidence: 0.8, 0,8, .8, 80%, 8/10, 8 out of 10, high, in the
// digits of any script; notGiven if there is none.
func share(text string) float64 {
	r, ok := read(text)
	if !ok {
		if x, ok := worded(text); ok {
			return x
		}
		return notGiven
	}
	switch {
	case r.percent:
		return unit(r.x / 100)
	case r.of > 0:
		return unit(r.x / r.of)
	}
	return scaled(r.x)
}

// scaled returns a confidence that was given without a unit: up to 1 as it is,
// else as of ten or of a hundred.
func scaled(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return notGiven
	case x < 2:
		return unit(x)
	case x <= 10:
		return unit(x / 10)
	}
	return unit(x / 100)
}

// priority reads a priority from 1 to 10: 7, 7/10, 70%, high; the default if
// there is none.
func priority(text string) int {
	r, ok := read(text)
	if !ok {
		if x, ok := worded(text); ok {
			return rank(x * 10)
		}
		return defaultPriority
	}
	switch {
	case r.percent:
		return rank(r.x / 10)
	case r.of > 0:
		return rank(r.x / r.of * 10)
	}
	return ranked(r.x)
}

// ranked returns a priority that was given without a unit: below 1 it is a share.
func ranked(x float64) int {
	if 0 < x && x < 1 {
		x *= 10
	}
	return rank(x)
}

// rank returns x as a priority.
func rank(x float64) int {
	if math.IsNaN(x) {
		return defaultPriority
	}
	return int(math.Round(min(max(x, 1), 10)))
}
