package eval

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	// aNumber matches numbers with points for decimals and commas, apostrophes or
	// narrow spaces between groups of three digits.
	aNumber = regexp.MustCompile(`[-+−–]?(?:\d{1,3}(?:[,'’\x{202f}\x{a0}]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3})?|[-+−–]?\.\d+`)
	// aResult matches what stands before a result.
	aResult = regexp.MustCompile(`(?i)\\boxed\s*\{|####|\b(?:answer|result|antwort|ergebnis|réponse|respuesta)\b[^\d\n.]{0,40}?(?:\bis\b|\bist\b|\best\b|\bes\b|=|:)`)
)

// Number returns the number that an answer comes to: the first one after the last
// "answer is", "answer:", "result =", "\boxed{" or "####" that has one after it in
// its line, else the last one there is. It reports false if there is none.
func Number(answer string) (float64, bool) {
	marks := aResult.FindAllStringIndex(answer, -1)
	for i := len(marks) - 1; i >= 0; i-- {
		line, _, _ := strings.Cut(answer[marks[i][1]:], "\n")
		if list := numbers(line, 1); len(list) > 0 {
			return list[0], true
		}
	}
	if list := numbers(answer, -1); len(list) > 0 {
		return list[len(list)-1], true
	}
	return 0, false
}

// numbers returns the numbers of a text, at most so many, all if negative.
func numbers(text string, most int) (list []float64) {
	for _, at := range aNumber.FindAllStringIndex(text, -1) {
		if n, ok := numberAt(text, at[0], at[1]); ok {
			list = append(list, n)
		}
		if len(list) == most {
			break
		}
	}
	return list
}

// numberAt reads the number at a place. A sign after a letter or a digit is a dash,
// and what begins in the middle of a word, such as the 2 of H2O, is no number.
func numberAt(text string, from, to int) (float64, bool) {
	s := text[from:to]
	if from > 0 && wordly(text[from-1]) {
		sign := strings.IndexFunc(s, func(r rune) bool { return r == '.' || '0' <= r && r <= '9' })
		if sign == 0 {
			return 0, false
		}
		s = s[sign:]
	}
	s = strings.NewReplacer("−", "-", "–", "-", ",", "", "'", "", "’", "", "\u202f", "", "\u00a0", "").Replace(s)
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

// wordly reports whether a byte is of a word.
func wordly(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}
