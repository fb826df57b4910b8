package similarity

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

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
	r.add(i, term{id: hash(append(text, dimension...)), weight: weightListed, is: amount})
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
