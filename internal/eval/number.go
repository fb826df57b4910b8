package eval

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A quantity is the number that an answer states, or a range. Factor is the value of a percent
// sign or of a word such as million, otherwise 1: "2 million" may mean 2 or 2,000,000.
type quantity struct{ low, high, factor float64 }

// isNear reports whether both ends are near a number, with or without the factor.
func (q quantity) isNear(number, allowed float64) bool {
	return slices.ContainsFunc([]float64{1, q.factor}, func(factor float64) bool {
		return math.Abs(q.low*factor-number) <= allowed && math.Abs(q.high*factor-number) <= allowed
	})
}

var resultPattern = regexp.MustCompile(`(?i)\\boxed\s*\{|####|(?m:^#+ *(?:final )?(?:answer|result|antwort|ergebnis|réponse|respuesta)\s*$)|` +
	`\b(?:answer|result|antwort|ergebnis|réponse|respuesta)\b[^\d\n.]{0,40}?(?:\bis\b|\bist\b|\best\b|\bes\b|=|:)`)

// findQuantity returns the number that an answer states as its result. It is the first one
// after the last "answer is", "answer:", "result =", "\boxed{" or "####" with a number in its
// line, otherwise the last one of the answer. An equation states its result: 42 in "6 * 7 = 42".
// A calculation without a result states no number, and "42 or 43" states a range.
func findQuantity(answer string) (quantity, bool) {
	answer = plainMath(answer)
	for _, mark := range slices.Backward(resultPattern.FindAllStringIndex(answer, -1)) {
		if list := statedQuantities(nextLine(answer[mark[1]:])); len(list) > 0 {
			return list[0], true
		}
	}
	for _, text := range []string{withoutAsides(answer), answer} {
		if list := statedQuantities(text); len(list) > 0 {
			return list[len(list)-1], true
		}
	}
	return quantity{}, false
}

// nextLine returns the first line with more than white space and marks of Markdown.
func nextLine(text string) string {
	for line := range strings.Lines(text) {
		if strings.Trim(line, " \t\r\n*_:$") != "" {
			return line
		}
	}
	return ""
}

var (
	texReplacer = strings.NewReplacer(`\times`, "×", `\cdot`, "·", `\div`, "÷", `\approx`, "≈", `\,`, "\u202f", "{,}", ",", `\%`, "%", `\$`, "$", "**", "", "__", "", "`", "")
	texFraction = regexp.MustCompile(`\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}`)
	texPower    = regexp.MustCompile(`\^\{\s*([-−]?\d+)\s*\}`)
	codePower   = regexp.MustCompile(`(\d)\*\*(\d)`)
	powerOfTen  = regexp.MustCompile(`(\d)\s*[x*×·⋅]\s*10\^([-−]?\d+)`)
	onlyPower   = regexp.MustCompile(`\b10\^([-−]?\d+)`)
	citation    = regexp.MustCompile(`\[\d{1,3}(?:, ?\d{1,3})*\]`)

	parentheses = regexp.MustCompile(`\([^()\n]*\)`)
	listMarker  = regexp.MustCompile(`(?m)^(\s*)\d{1,2}[.)](\s+\S)`)
)

// plainMath removes marks of TeX and Markdown, and citations.
func plainMath(text string) string {
	text = codePower.ReplaceAllString(text, "$1^$2")
	text = texFraction.ReplaceAllString(text, "$1/$2")
	text = texPower.ReplaceAllString(texReplacer.Replace(text), "^$1")
	text = powerOfTen.ReplaceAllString(text, "${1}e$2")
	text = onlyPower.ReplaceAllString(text, "1e$1")
	return citation.ReplaceAllString(text, " ")
}

// withoutAsides removes text in parentheses and the numbers of list items.
func withoutAsides(text string) string {
	return listMarker.ReplaceAllString(parentheses.ReplaceAllString(text, " "), "$1$2")
}

// These patterns match the text between two numbers, or before a number.
var (
	operatorGap    = regexp.MustCompile(`^\s*\)*[\pL°²]{0,12}\s*(?:[+*×·⋅÷/]|\bx\b|\b(?:times|plus|minus|mal|divided by)\b)\s*\(*\s*$`)
	equationGap    = regexp.MustCompile(`(?i)^(?:,? (?:so|thus|hence|therefore) \pL?|\s*\)*\s*[\pL°%²/€$]{0,12})\s*[)}]*\s*(?:=|≈|→|⇒|\b(?:equals|is|gives|makes|ist|ergibt)\b)[^\d.;,!?\n]{0,20}$`)
	rangeGap       = regexp.MustCompile(`(?i)^\s?[\pL°%€$]{0,4}\s*(?:[-–—−]|\bto\b|\bbis\b)\s*$`)
	betweenGap     = regexp.MustCompile(`(?i)^\s?[\pL°%€$]{0,4}\s*\b(?:and|und|et|y)\b\s*$`)
	alternativeGap = regexp.MustCompile(`(?i)^,?\s?[\pL°%€$]{0,12}\s*\b(?:or|oder|ou)\b\s*(?:even|maybe|perhaps)?\s*$`)
	wholeGap       = regexp.MustCompile(`(?i)^[\pL ]{0,20}\b(?:of|von)\b(?: (?:the|all|den))?\s*$`)
	beforeBetween  = regexp.MustCompile(`(?i)\b(?:between|zwischen|entre)\s*$`)
	beforeChange   = regexp.MustCompile(`(?i)\b(?:from|von|de)\s*$`)
	beforeDenied   = regexp.MustCompile(`(?i)\b(?:not|nicht|pas|rather than|instead of)\s+$`)
)

// statedQuantities returns the quantity of each statement of a text.
func statedQuantities(text string) (list []quantity) {
	var side, result quantity
	started, calculated, stated := false, false, false
	endSide := func() {
		if started && !calculated {
			result, stated = side, true
		}
		calculated = false
	}
	endStatement := func() {
		endSide()
		if stated {
			list = append(list, result)
		}
		stated = false
	}
	end, before := 0, "" // of the last number, and the text before it
	for _, n := range findNumbers(text) {
		gap := text[end:n.from]
		switch {
		case beforeDenied.MatchString(gap):
			continue
		case strings.HasSuffix(gap, "^"): // of the number before, or of a unit
			calculated = calculated || gap == "^"
		case !started:
			side = n.quantity
		case operatorGap.MatchString(gap):
			calculated = true
		case rangeGap.MatchString(gap) && !beforeChange.MatchString(before), alternativeGap.MatchString(gap),
			betweenGap.MatchString(gap) && beforeBetween.MatchString(before):
			side = quantity{min(side.low, n.low), max(side.high, n.high), n.factor}
		case wholeGap.MatchString(gap): // "3 of 4" states 3
		case equationGap.MatchString(gap):
			endSide()
			side = n.quantity
		default:
			endStatement()
			side = n.quantity
		}
		started = started || !strings.HasSuffix(gap, "^")
		end, before = n.to, gap
	}
	endStatement()
	return list
}

// A foundNumber is a number and its place in a text.
type foundNumber struct {
	quantity
	from, to int
}

// numberPattern matches a number with the sign and currency before it, and the fraction and
// scale after it. Commas, dots, apostrophes or spaces may separate groups of three digits.
var numberPattern = regexp.MustCompile(`([-+−–]?)[$€£¥]?` +
	`(\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?\b|\d{1,3}(?:\.\d{3})+,\d+\b|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:['’\x{202f}\x{a0} ]\d{3})+\b(?:[.,]\d+)?|\d+[.,]\d+|\d+|\.\d+)` +
	`([eE][-+−]?\d{1,3}\b)?( \d+/\d+|/\d+)?` +
	`(\s?[%‰]|\s?(?i:percent|prozent|thousand|million|billion|trillion|tausend|millionen|milliarden?)\b|[kKMB]\b)?`)

var scales = map[string]float64{
	"%": 0.01, "percent": 0.01, "prozent": 0.01, "‰": 0.001, "k": 1e3, "thousand": 1e3, "tausend": 1e3, "m": 1e6, "million": 1e6, "millionen": 1e6,
	"b": 1e9, "billion": 1e9, "milliarde": 1e9, "milliarden": 1e9, "trillion": 1e12,
}

func findNumbers(text string) (list []foundNumber) {
	for at := 0; ; {
		m := numberPattern.FindStringSubmatchIndex(text[at:])
		if m == nil {
			return list
		}
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[at+m[2*i] : at+m[2*i+1]]
		}
		n := foundNumber{from: at + m[0], to: at + m[1]}
		sign, digits, fraction := part(1), part(2), part(4)
		glued := endsWord(text[:n.from])
		if glued && sign != "" { // a dash
			n.from += len(sign)
			sign, glued = "", false
		}
		whole, _, decimals := strings.Cut(digits, ",")
		if decimals && strings.Count(digits, ",") == 1 && !hasGroups(digits) && isInList(text[:n.from], text[at+m[5]:]) {
			digits, fraction, n.to = whole, "", at+m[4]+len(whole) // of a list such as 1,2,3
		}
		value, err := strconv.ParseFloat(strings.ReplaceAll(normalDigits(digits)+part(3), "−", "-"), 64)
		if fraction != "" {
			if strings.HasPrefix(text[n.to:], "/") { // a date
				n.to, fraction = at+m[8], ""
			} else {
				value = addFraction(value, fraction)
			}
		}
		if strings.ContainsAny(sign, "-−–") {
			value = -value
		}
		factor := 1.0
		if scale, ok := scales[strings.ToLower(strings.TrimSpace(part(5)))]; ok && n.to == at+m[1] {
			factor = scale
		}
		if n.quantity = (quantity{value, value, factor}); err == nil && !glued && !math.IsInf(value, 0) && !math.IsNaN(value) {
			list = append(list, n)
		}
		at = n.to
	}
}

// endsWord reports whether a text ends within a word, such as H2O or x_1.
func endsWord(text string) bool {
	r, size := utf8.DecodeLastRuneInString(text)
	if r == '_' {
		r, _ = utf8.DecodeLastRuneInString(text[:len(text)-size])
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

var groups = regexp.MustCompile(`^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$|^\d{1,3}(?:\.\d{3})+,\d+$`)

func hasGroups(digits string) bool { return groups.MatchString(digits) }

// isInList reports whether a number stands between other numbers and commas.
func isInList(before, after string) bool {
	return len(before) > 1 && before[len(before)-1] == ',' && isDigit(before[len(before)-2]) || len(after) > 1 && after[0] == ',' && isDigit(after[1])
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// normalDigits removes the separators of groups, and writes a decimal point.
func normalDigits(digits string) string {
	digits = strings.NewReplacer("'", "", "’", "", "\u202f", "", "\u00a0", "", " ", "").Replace(digits)
	switch dots, commas := strings.Count(digits, "."), strings.Count(digits, ","); {
	case dots > 1, dots == 1 && commas == 1 && strings.Index(digits, ".") < strings.Index(digits, ","):
		return strings.ReplaceAll(strings.ReplaceAll(digits, ".", ""), ",", ".")
	case commas == 1 && !hasGroups(digits):
		return strings.ReplaceAll(digits, ",", ".")
	}
	return strings.ReplaceAll(digits, ",", "")
}

// addFraction adds the fraction of "1 1/2" to 1, and divides the 3 of "3/4" by 4.
func addFraction(value float64, fraction string) float64 {
	numerator, denominator, _ := strings.Cut(strings.TrimSpace(fraction), "/")
	d, err := strconv.ParseFloat(denominator, 64)
	if err != nil {
		return math.NaN()
	}
	if numerator == "" {
		return value / d
	}
	n, err := strconv.ParseFloat(numerator, 64)
	if err != nil {
		return math.NaN()
	}
	return value + n/d
}
